-- Sessions as acp-usage reports them: cost and tokens of each project.
SELECT cwd AS project, count(*) AS sessions, sum(billed.total) AS billed, round(sum(cost[1].amount), 6) AS usd
FROM read_json('sessions.jsonl', format = 'newline_delimited', sample_size = -1)
WHERE total IS NULL
GROUP BY project ORDER BY usd DESC;
