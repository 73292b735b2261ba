-- What the table adds up to; sums in tenths, as movies.mjs counts them.
SELECT count(*)                                                          AS movies,
    count(title)                                                         AS titles,
    count(DISTINCT director)                                             AS directors,
    count(*) FILTER (WHERE extract(year FROM release_date) = 1998)       AS released_in_1998,
    (sum(us_gross) * 10)::bigint                                         AS us_gross,
    (sum(worldwide_gross::numeric) * 10)::bigint                         AS worldwide_gross,
    (sum(us_dvd_sales::numeric) * 10)::bigint                            AS us_dvd_sales,
    (sum(production_budget::numeric) * 10)::bigint                       AS production_budget,
    (sum(running_time_minutes) * 10)::bigint                             AS running_time_minutes,
    (sum(rotten_tomatoes) * 10)::bigint                                  AS rotten_tomatoes,
    (sum(imdb_rating) * 10)::bigint                                      AS imdb_rating,
    (sum(imdb_votes::numeric) * 10)::bigint                              AS imdb_votes
FROM movies
