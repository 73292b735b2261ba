// Refused is an answer with errors, for clients that return answers as they are.
export class Refused extends Error {
  constructor(errors) {
    super(errors[0].message);
    this.code = errors[0].extensions.code;
  }
}

export function dataOf({ data, errors }) {
  if (errors) throw new Refused(errors);
  return data;
}

// only returns the one answer that a query or mutation has.
export async function only(answers) {
  const all = [];
  for await (const answer of answers) all.push(answer);
  if (all.length !== 1) throw new Error(`${all.length} answers`);
  return all[0];
}
