-- Files of one folder are one table. The second one has a column more, and larger numbers.
copy (select * from (values (1, 'NL'), (2, 'BE')) as t (user_id, country)) to 'clicks/1.tarsia';
copy (select * from (values (3000000000, 'DE', 0.5)) as t (user_id, country, score)) to 'clicks/2.tarsia';
select user_id, country, score from 'clicks/' order by user_id;
