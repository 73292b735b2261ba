// Reads the schema of the endpoint named on the command line by the introspection query that GraphiQL and other tools send,
// and prints it.
import { buildClientSchema, getIntrospectionQuery, printSchema } from 'graphql';

const response = await fetch(process.argv[2], {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true, oneOf: true }) }),
});
const { data, errors } = await response.json();
if (errors) throw new Error(JSON.stringify(errors));
console.log(printSchema(buildClientSchema(data)));
