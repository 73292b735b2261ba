-- The target of the example, as somebody might first write it: four bytes look like enough for a film's income.
CREATE TABLE IF NOT EXISTS movies (
    movie_id             text PRIMARY KEY,
    job_record_id        uuid NOT NULL,
    title                text,
    release_date         date NOT NULL,
    us_gross             bigint,
    worldwide_gross      integer,
    us_dvd_sales         integer,
    production_budget    integer,
    running_time_minutes smallint,
    mpaa_rating          text,
    distributor          text,
    director             text,
    rotten_tomatoes      smallint CHECK (rotten_tomatoes BETWEEN 0 AND 100),
    imdb_rating          numeric(3, 1),
    imdb_votes           integer
);
