-- Rows that are sorted by what is asked for lie together: other blocks are not read.
copy (select value as id, value * 7919 % 10007 as score from generate_series(1, 100000) order by score desc)
to 'sorted.tarsia' options ('format.preset' 'compact');
select count(*) as best from 'sorted.tarsia' where score > 9990;
