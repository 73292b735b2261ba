-- One job's records into the table movies. The table's own types have the last word: a value that one of them cannot hold
-- makes the whole job fail, and none of its rows stay.
INSERT INTO movies
SELECT movie.id,
    @job_record_id::uuid,
    movie."Title",
    to_date(movie."Release Date", 'Mon DD YYYY'),
    movie."US Gross",
    movie."Worldwide Gross",
    movie."US DVD Sales",
    movie."Production Budget",
    movie."Running Time min",
    movie."MPAA Rating",
    movie."Distributor",
    movie."Director",
    movie."Rotten Tomatoes Rating",
    movie."IMDB Rating",
    movie."IMDB Votes"
FROM jsonb_to_recordset(@records::jsonb) AS movie(
    id                       text,
    "Title"                  text, -- a few titles are JSON numbers: 1776, 300, 21
    "Release Date"           text, -- 'Jun 12 1998'
    "US Gross"               numeric,
    "Worldwide Gross"        numeric,
    "US DVD Sales"           numeric,
    "Production Budget"      numeric,
    "Running Time min"       numeric,
    "MPAA Rating"            text,
    "Distributor"            text,
    "Director"               text,
    "Rotten Tomatoes Rating" numeric,
    "IMDB Rating"            numeric,
    "IMDB Votes"             numeric)
