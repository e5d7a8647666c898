SELECT count(*) FROM t
SELECT count(*), count(n), count(t), count(x), count(ok) FROM t
SELECT min(id), max(id), sum(id) FROM t
SELECT min(n), max(n), min(d), max(d), min(ts), max(ts) FROM t
SELECT min(t), max(t), min(dec), max(dec), min(bin), max(bin) FROM t
SELECT min(x), max(x), min(f), max(f) FROM t
SELECT min(y), max(y), sum(y), avg(y) FROM t
SELECT id FROM t
SELECT * FROM t WHERE id < 40
SELECT t, n, id FROM t WHERE id BETWEEN 990 AND 1010
SELECT 1 FROM t WHERE n > 100
SELECT 'a', id + 1, n * 2 FROM t WHERE id % 97 = 0
SELECT count(*) FROM t WHERE n IS NULL
SELECT count(*) FROM t WHERE n IS NOT NULL
SELECT count(*) FROM t WHERE n = 7
SELECT count(*) FROM t WHERE n <> 7
SELECT count(*) FROM t WHERE n < 7
SELECT count(*) FROM t WHERE n <= 7
SELECT count(*) FROM t WHERE n > 7
SELECT count(*) FROM t WHERE n >= 7
SELECT count(*) FROM t WHERE 7 < n
SELECT count(*) FROM t WHERE NOT (n = 7)
SELECT count(*) FROM t WHERE NOT (n < 7 OR n > 100)
SELECT count(*) FROM t WHERE n = 3000000000
SELECT count(*) FROM t WHERE n < 3000000000
SELECT count(*) FROM t WHERE n = 3.5
SELECT count(*) FROM t WHERE n > 3.5
SELECT count(*) FROM t WHERE u > 250
SELECT count(*) FROM t WHERE u < 300
SELECT count(*) FROM t WHERE u = -1
SELECT count(*) FROM t WHERE id > 19000 AND n IS NULL
SELECT count(*) FROM t WHERE id > 19000 OR n IS NULL
SELECT id FROM t WHERE n IN (1, 2, 3)
SELECT id FROM t WHERE n NOT IN (1, 2, 3) AND id < 100
SELECT id FROM t WHERE n IN (1, NULL, 3)
SELECT id FROM t WHERE n NOT IN (1, NULL, 3)
SELECT count(*) FROM t WHERE n IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
SELECT count(*) FROM t WHERE n IN (NULL)
SELECT count(*) FROM t WHERE t IN ('name 1', 'name 22', 'nobody')
SELECT count(*) FROM t WHERE t NOT IN ('name 1', 'name 22', 'nobody')
SELECT count(*) FROM t WHERE t NOT IN ('name 1', NULL)
SELECT count(*) FROM t WHERE c IN ('red', 'blue')
SELECT count(*) FROM t WHERE c NOT IN ('red', 'blue')
SELECT count(*) FROM t WHERE dict = 'b'
SELECT count(*) FROM t WHERE dict <> 'b'
SELECT count(*) FROM t WHERE dict IN ('a', 'c')
SELECT count(*) FROM t WHERE dict IS NULL
SELECT dict, count(*) FROM t GROUP BY dict
SELECT count(*) FROM t WHERE t = 'name 7'
SELECT count(*) FROM t WHERE t > 'name 5'
SELECT count(*) FROM t WHERE t BETWEEN 'name 2' AND 'name 4'
SELECT count(*) FROM t WHERE t LIKE 'name 1%'
SELECT count(*) FROM t WHERE t LIKE '%9'
SELECT count(*) FROM t WHERE t LIKE 'name _'
SELECT count(*) FROM t WHERE t NOT LIKE '%1%'
SELECT count(*) FROM t WHERE t ILIKE 'NAME 1%'
SELECT count(*) FROM t WHERE t LIKE 'name\_%'
SELECT count(*) FROM t WHERE t LIKE NULL
SELECT count(*) FROM t WHERE t LIKE ''
SELECT count(*) FROM t WHERE starts_with(t, 'name 3')
SELECT count(*) FROM t WHERE length(t) = 7
SELECT count(*) FROM t WHERE upper(t) = 'NAME 9'
SELECT count(*) FROM t WHERE t ~ '^name [0-4]+$'
SELECT count(*) FROM t WHERE t = ''
SELECT count(*) FROM t WHERE x > 100
SELECT count(*) FROM t WHERE x < -100
SELECT count(*) FROM t WHERE x = 0.0
SELECT count(*) FROM t WHERE x = -0.0
SELECT count(*) FROM t WHERE x <= 0.0
SELECT count(*) FROM t WHERE x >= 0.0
SELECT count(*) FROM t WHERE x = 'NaN'::double
SELECT count(*) FROM t WHERE x <> 'NaN'::double
SELECT count(*) FROM t WHERE isnan(x)
SELECT count(*) FROM t WHERE x > 1e300
SELECT count(*) FROM t WHERE NOT (x > 1e300)
SELECT count(*) FROM t WHERE x IN (0.0, 1.5)
SELECT count(*) FROM t WHERE f > 0.1
SELECT count(*) FROM t WHERE f = 0.1
SELECT count(*) FROM t WHERE f = 0.1::float
SELECT count(*) FROM t WHERE f < 0.5::double
SELECT count(*) FROM t WHERE y = 12.25
SELECT count(*) FROM t WHERE dec = 1.23
SELECT count(*) FROM t WHERE dec > 100
SELECT count(*) FROM t WHERE dec < 99.999
SELECT count(*) FROM t WHERE dec BETWEEN 10.5 AND 20.25
SELECT count(*) FROM t WHERE dec IN (1.23, 4.56, 7.8901)
SELECT sum(dec), avg(dec) FROM t WHERE dec > 10
SELECT count(*) FROM t WHERE d = DATE '2024-02-29'
SELECT count(*) FROM t WHERE d >= DATE '2024-01-01' AND d < DATE '2024-03-01'
SELECT count(*) FROM t WHERE d < '2023-06-01'
SELECT count(*) FROM t WHERE d + INTERVAL '1 day' > DATE '2024-06-01'
SELECT date_part('year', d), count(*) FROM t GROUP BY 1
SELECT count(*) FROM t WHERE date_part('month', d) = 2
SELECT date_trunc('month', ts), count(*) FROM t GROUP BY 1
SELECT count(*) FROM t WHERE ts > TIMESTAMP '2024-01-01T00:00:00'
SELECT count(*) FROM t WHERE ts = TIMESTAMP '2024-01-01T00:00:00'
SELECT count(*) FROM t WHERE ts BETWEEN '2023-01-01' AND '2023-01-02'
SELECT count(*) FROM t WHERE d = ts
SELECT count(*) FROM t WHERE ok
SELECT count(*) FROM t WHERE NOT ok
SELECT count(*) FROM t WHERE ok IS TRUE
SELECT count(*) FROM t WHERE ok IS NOT TRUE
SELECT count(*) FROM t WHERE ok IS FALSE
SELECT count(*) FROM t WHERE ok IS UNKNOWN
SELECT count(*) FROM t WHERE ok = false
SELECT count(*) FROM t WHERE ok OR n > 100
SELECT count(*) FROM t WHERE ok AND n > 100
SELECT count(*) FROM t WHERE bin = X'00ff'
SELECT count(*) FROM t WHERE bin > X'40'
SELECT count(*) FROM t WHERE bin IS NULL
SELECT count(*) FROM t WHERE n IS DISTINCT FROM 7
SELECT count(*) FROM t WHERE n IS NOT DISTINCT FROM NULL
SELECT count(*) FROM t WHERE n = NULL
SELECT count(*) FROM t WHERE NULL
SELECT count(*) FROM t WHERE true
SELECT count(*) FROM t WHERE false
SELECT id FROM t WHERE 1 = 0
SELECT count(*) FROM t WHERE n > m
SELECT count(*) FROM t WHERE n = u
SELECT count(*) FROM t WHERE n + 1 > 50
SELECT count(*) FROM t WHERE n / 3 = 5
SELECT count(*) FROM t WHERE n % 10 = 3 AND id > 500
SELECT count(*) FROM t WHERE abs(n) > 500
SELECT count(*) FROM t WHERE -n > 10
SELECT count(*) FROM t WHERE n * n > 10000
SELECT count(*) FROM t WHERE coalesce(n, 0) = 0
SELECT count(*) FROM t WHERE nullif(n, 7) IS NULL
SELECT CASE WHEN n IS NULL THEN 'none' WHEN n < 0 THEN 'low' ELSE 'high' END AS k, count(*) FROM t GROUP BY 1
SELECT count(*) FROM t WHERE CASE WHEN n < 0 THEN ok ELSE n > 100 END
SELECT count(*) FROM t WHERE CASE c WHEN 'red' THEN 1 WHEN 'blue' THEN 2 END = 2
SELECT count(*) FROM t WHERE CAST(n AS bigint) > 100
SELECT count(*) FROM t WHERE CAST(n AS double) > 100.5
SELECT count(*) FROM t WHERE CAST(n AS varchar) = '7'
SELECT count(*) FROM t WHERE CAST(u AS int) = 200
SELECT count(*) FROM t WHERE TRY_CAST(x AS int) = 1 AND x < 1000 AND x > -1000
SELECT count(*) FROM t WHERE TRY_CAST(substr(t, 6) AS int) > 40
SELECT count(*) FROM t WHERE CAST(d AS varchar) LIKE '2024-02%'
SELECT count(*) FROM t WHERE CAST(ts AS date) = DATE '2023-05-05'
SELECT s['a'], s['b'], id FROM t WHERE id < 30
SELECT s FROM t WHERE id < 30
SELECT count(*) FROM t WHERE s['a'] > 50
SELECT count(*) FROM t WHERE s['a'] IS NULL
SELECT count(*) FROM t WHERE s['b'] = 'b 3'
SELECT count(*) FROM t WHERE s['b'] LIKE 'b 1%'
SELECT count(*) FROM t WHERE s['c']['e'] = 4
SELECT count(*) FROM t WHERE s['c']['e'] IN (1, 2) AND s['a'] < 70
SELECT sum(s['c']['e']), count(s['a']), max(s['b']) FROM t
SELECT s['c'] FROM t WHERE id BETWEEN 100 AND 110
SELECT count(*) FROM t WHERE s IS NULL
SELECT count(*) FROM t WHERE s['a'] = n
SELECT l, id FROM t WHERE id < 30
SELECT count(*) FROM t WHERE array_length(l) = 2
SELECT count(*) FROM t WHERE l[1] = 3
SELECT sum(l[1]) FROM t
SELECT count(*) FROM (SELECT unnest(l) FROM t)
SELECT c, count(*), sum(n), min(t) FROM t GROUP BY c
SELECT c, ok, count(*) FROM t GROUP BY c, ok HAVING count(*) > 10
SELECT c, count(DISTINCT n) FROM t GROUP BY c
SELECT DISTINCT c FROM t
SELECT DISTINCT c, ok FROM t WHERE n > 0
SELECT count(DISTINCT t) FROM t
SELECT c, approx_distinct(id) > 0 FROM t GROUP BY c
SELECT c, sum(n) FILTER (WHERE ok) FROM t GROUP BY c
SELECT c, ok, sum(id) FROM t GROUP BY ROLLUP (c, ok)
SELECT stddev(y) > 0, var_pop(y) > 0 FROM t
SELECT bool_and(ok), bool_or(ok) FROM t
!SELECT id FROM t ORDER BY id LIMIT 10
!SELECT id FROM t ORDER BY id DESC LIMIT 10
!SELECT id, n FROM t ORDER BY n, id LIMIT 25
!SELECT id, n FROM t ORDER BY n DESC NULLS LAST, id LIMIT 25
!SELECT id, n FROM t ORDER BY n DESC NULLS FIRST, id DESC LIMIT 25
!SELECT id, t FROM t WHERE ok ORDER BY t DESC NULLS LAST, id LIMIT 7
!SELECT id, x FROM t ORDER BY x DESC NULLS LAST, id LIMIT 60
!SELECT id, x FROM t ORDER BY x NULLS LAST, id LIMIT 60
!SELECT id, d FROM t WHERE n > 0 ORDER BY d, id LIMIT 30
!SELECT id, dec FROM t ORDER BY dec DESC NULLS LAST, id LIMIT 30
!SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 15000
!SELECT id FROM t WHERE n = 7 ORDER BY id
!SELECT id, t FROM t ORDER BY t, id
!SELECT n + 1 AS k, id FROM t WHERE n IS NOT NULL ORDER BY k DESC, id LIMIT 9
!SELECT s['a'] AS a, id FROM t ORDER BY a DESC NULLS LAST, id LIMIT 9
SELECT count(*) FROM (SELECT id FROM t LIMIT 10)
SELECT count(*) FROM (SELECT id FROM t WHERE n > 0 LIMIT 10)
SELECT count(*) FROM (SELECT id FROM t WHERE n + 1 > 0 LIMIT 10)
SELECT count(*) FROM (SELECT id FROM t WHERE t LIKE 'name 1%' LIMIT 5000)
SELECT count(*) FROM (SELECT id FROM t LIMIT 0)
SELECT count(*) FROM (SELECT id FROM t WHERE id > 5 LIMIT 100 OFFSET 50)
SELECT count(*) FROM (SELECT * FROM t WHERE s['a'] > 10 LIMIT 33)
SELECT t.id, k.label FROM t JOIN k ON t.n = k.n WHERE t.id < 4000
SELECT count(*) FROM t JOIN k ON t.n = k.n
SELECT count(*) FROM t JOIN k ON t.n = k.n WHERE k.label = 'label 3'
SELECT count(*) FROM t JOIN k ON t.id = k.big
SELECT count(*) FROM t LEFT JOIN k ON t.n = k.n
SELECT count(*) FROM t RIGHT JOIN k ON t.n = k.n
SELECT count(*) FROM t FULL JOIN k ON t.n = k.n
SELECT count(*) FROM k JOIN t ON t.n = k.n AND t.id > k.big
SELECT count(*) FROM t WHERE n IN (SELECT n FROM k)
SELECT count(*) FROM t WHERE n NOT IN (SELECT n FROM k)
SELECT count(*) FROM t WHERE n NOT IN (SELECT n FROM k WHERE n IS NOT NULL)
SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM k WHERE k.n = t.n)
SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.n = t.n)
SELECT count(*) FROM t WHERE n > (SELECT avg(n) FROM k)
SELECT count(*) FROM t WHERE id = (SELECT max(big) FROM k)
SELECT count(*) FROM t a JOIN t b ON a.id = b.n
SELECT count(*) FROM t a JOIN t b ON a.id = b.id WHERE a.n > 50 AND b.ok
SELECT count(*) FROM t a JOIN t b ON a.t = b.t AND a.id < 200 AND b.id < 300
SELECT count(*) FROM (SELECT id FROM t WHERE n > 10 UNION ALL SELECT id FROM t WHERE n < 10)
SELECT count(*) FROM (SELECT n FROM t UNION SELECT n FROM k)
SELECT n FROM t INTERSECT SELECT n FROM k
SELECT count(*) FROM (SELECT n FROM t EXCEPT SELECT n FROM k)
WITH a AS (SELECT c, sum(n) AS total FROM t GROUP BY c) SELECT * FROM a WHERE total > (SELECT min(total) FROM a)
!SELECT id, row_number() OVER (PARTITION BY c ORDER BY id) AS r FROM t WHERE id < 300 ORDER BY id
!SELECT id, sum(n) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM t WHERE id < 300 ORDER BY id
!SELECT id, lag(n) OVER (ORDER BY id), lead(t, 2) OVER (ORDER BY id) FROM t WHERE id < 200 ORDER BY id
!SELECT * FROM (SELECT id, c, rank() OVER (PARTITION BY c ORDER BY n DESC NULLS LAST, id) AS r FROM t) WHERE r <= 3 ORDER BY c, r, id
!SELECT c, ok, count(*) AS k FROM t GROUP BY c, ok ORDER BY k DESC, c, ok LIMIT 4
!SELECT max(id) AS top, n FROM t GROUP BY n ORDER BY top DESC LIMIT 5
SELECT m, count(*) FROM t GROUP BY m
SELECT count(*) FROM t WHERE m IS NULL
SELECT count(*) FROM t WHERE m IS NOT NULL AND m < 50
SELECT count(*) FROM t WHERE m = 5 OR m IS NULL
SELECT count(*), sum(m) FROM t WHERE id < 900
SELECT id + m FROM t WHERE id BETWEEN 950 AND 1050
SELECT concat(t, '-', c) FROM t WHERE id < 20
SELECT id, id AS same FROM t WHERE id < 5
SELECT count(*) FROM t WHERE id >= 0
SELECT count(*) FROM t WHERE id < 0
SELECT count(*) FROM t WHERE id > 5000 AND id < 5010 AND n IS NOT NULL AND t LIKE '%' AND s['a'] + 0 >= 0
SELECT count(*) FROM t WHERE (id < 100 AND n > 5) OR (id > 19900 AND n < 5) OR t = 'name 3'
SELECT count(*) FROM t WHERE NOT (id < 100 OR n > 5 OR t LIKE 'name 1%')
SELECT count(*) FROM t WHERE random() < 2 AND n = 7
SELECT count(*), min(n) FROM t WHERE key > 15000000000
SELECT count(*), max(t) FROM t WHERE key < 1000000000 OR key >= 19000000000
SELECT count(*) FROM t WHERE key BETWEEN 5000000000 AND 6000000000 AND n > 100
SELECT count(*) FROM t WHERE NOT (key > 3000000000) AND t LIKE 'name 1%'
SELECT min(key), max(key), count(key) FROM t
SELECT count(*) FROM t WHERE key < -5
SELECT count(*) FROM t WHERE key IS NULL
!SELECT key, id FROM t ORDER BY key LIMIT 5
!SELECT key, id FROM t ORDER BY key DESC LIMIT 5
!SELECT key, n FROM t WHERE n > 100 ORDER BY key DESC LIMIT 50
SELECT count(*) FROM t a JOIN t b ON a.key = b.key WHERE a.key > 18000000000 AND b.n > 0
SELECT count(b.n) FROM (SELECT key FROM t WHERE n = 7) a JOIN t b ON a.key = b.key
SELECT count(*) FROM t WHERE x <> 0.0
SELECT count(*) FROM t WHERE x < 0.0
SELECT count(*) FROM t WHERE x > -0.0
SELECT count(*) FROM t WHERE NOT (x >= 0.0)
SELECT count(*) FROM t WHERE x IN (0.0, 1.5, 2.5, 3.5, 4.5, 5.5)
SELECT count(*) FROM t WHERE f IN (0.5::float, 1.5::float, 2.5::float, 3.5::float, 4.5::float)
SELECT s['a'], s['c']['e'], id FROM t WHERE n > 700
