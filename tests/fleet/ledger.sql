-- The ledger of acp-budget: cost of each project and day. An entry is what a session has used since its last one.
SELECT project, CAST(time AS DATE) AS day, sum(turns) AS turns, sum(tokens.total) AS tokens,
	round(sum(list_sum(list_transform(cost, c -> c.amount))), 6) AS usd
FROM read_json('ledger.jsonl', format = 'newline_delimited', columns = {time: 'TIMESTAMP', project: 'VARCHAR', turns: 'BIGINT',
	tokens: 'STRUCT(total BIGINT)', cost: 'STRUCT(amount DECIMAL(18, 9), currency VARCHAR)[]'})
GROUP BY ALL ORDER BY ALL;
