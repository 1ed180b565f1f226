#!/usr/bin/env python3
"""query.py FILE.sql: runs the query with DuckDB in the working directory, and prints the rows separated by tabs."""
import sys
import duckdb

with open(sys.argv[1], encoding="utf-8") as f:
	for row in duckdb.sql(f.read()).fetchall():
		print(*row, sep="\t")
