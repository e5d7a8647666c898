-- A table and one of its branches. Each INSERT INTO is one commit.
insert into 'ads' values ('NL', 3), ('BE', 9), ('NL', 12);
insert into 'ads#exp' select country, clicks * 10 from 'ads' where country = 'NL';
-- What the branch has, and main as it was when it was empty.
select country, sum(clicks) as clicks from 'ads#exp' group by country order by country;
select count(*) as before from tarsia_table('ads', 'main~1');
-- Both in one statement.
select m.country, m.clicks, e.clicks as in_exp from 'ads' m join tarsia_table('ads', 'exp') e
on m.clicks * 10 = e.clicks order by m.clicks;
