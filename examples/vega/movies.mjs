// The data set: how it is cut into batches, and what a table that holds all of it must add up to.
import { readFileSync } from 'node:fs';

const BATCH_SIZE = 250;

const source = JSON.parse(readFileSync(new URL('./node_modules/vega-datasets/data/movies.json', import.meta.url), 'utf8'));

// Each record needs an id of its own; the data set has none, so a record's place in the file is its id.
const records = source.map((movie, i) => ({ id: `movie-${String(i + 1).padStart(4, '0')}`, ...movie }));

/** The batches, always cut alike, so that a batch's number stands for exact bytes and can name its idempotency keys. */
export const batches = [];
for (let start = 0; start < records.length; start += BATCH_SIZE) {
  const name = `vega-movies-3.2.1-batch-${String(batches.length + 1).padStart(2, '0')}`;
  batches.push({ name, body: JSON.stringify(records.slice(start, start + BATCH_SIZE)) });
}

const values = (column) => source.map((movie) => movie[column]).filter((value) => value !== null);

// Sums are whole numbers of tenths, since floating-point numbers would not add up exactly.
const sum = (column) => values(column).reduce((total, value) => total + BigInt(Math.round(value * 10)), 0n);

/** What totals.sql must find, as text. */
export const expected = {
  movies: source.length,
  titles: values('Title').length,
  directors: new Set(values('Director')).size,
  released_in_1998: source.filter((movie) => movie['Release Date'].endsWith(' 1998')).length,
  us_gross: sum('US Gross'),
  worldwide_gross: sum('Worldwide Gross'),
  us_dvd_sales: sum('US DVD Sales'),
  production_budget: sum('Production Budget'),
  running_time_minutes: sum('Running Time min'),
  rotten_tomatoes: sum('Rotten Tomatoes Rating'),
  imdb_rating: sum('IMDB Rating'),
  imdb_votes: sum('IMDB Votes'),
};
