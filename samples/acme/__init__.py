"""The smallest export: ten tickets, their orders and one policy, as files to read and to start from."""
