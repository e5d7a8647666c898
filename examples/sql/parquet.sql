-- Formats may be mixed.
copy (select * from (values (1, 'Ada'), (2, 'Grace')) as t (id, name)) to 'users.parquet';
copy (select * from (values (1, 10), (1, 11), (2, 12)) as t (user_id, page)) to 'clicks.tarsia';
select u.name, count(*) as clicks from 'clicks.tarsia' c join 'users.parquet' u on c.user_id = u.id
group by u.name order by u.name;
