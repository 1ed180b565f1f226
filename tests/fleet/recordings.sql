-- Recordings as they are: tool calls by title. The list of columns keeps DuckDB from guessing them from each message.
SELECT msg ->> '$.params.update.title' AS tool, count(*) AS calls, count(DISTINCT filename) AS recordings
FROM read_json('host-*/*.rec', format = 'newline_delimited', filename = true,
	columns = {t: 'DOUBLE', "from": 'VARCHAR', msg: 'JSON'})
WHERE msg ->> '$.params.update.sessionUpdate' = 'tool_call'
GROUP BY tool ORDER BY calls DESC;
