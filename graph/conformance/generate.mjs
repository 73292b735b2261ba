// Makes documents with variables at random, the same ones for the same seed: mostly valid ones, some with arguments or
// variables that are not, and some with a piece of their text missing or doubled.
import { getNamedType, isAbstractType, isLeafType } from 'graphql';

const VALUES = {
  Int: { literals: ['1', '2', '50', '100', 'null'], loose: ['0', '101', '-1', '1.0', '"5"', '2147483648', '[1]', '{}', 'true', 'X'],
    json: [1, 2, 100, null], looseJSON: [0, 101, '5', 1.5, 2147483648, [1], {}, true] },
  String: { literals: ['""', 'null', '"x"', '"""\n"""'], loose: ['5', 'X', '["x"]'], json: ['', null, 'x'], looseJSON: [5, ['x'], {}, true] },
  ID: { literals: [], loose: ['5', '"x"', '1.5', 'null', 'X', '{}'], json: [], looseJSON: ['x', 5, 1.5, null, true, [1]] },
  JobFilter: {
    literals: ['{}', 'null', '{status: FAILED}', '{status: [CANCELLED, PENDING], replay: true}', '{unresolved: true}', '{replay: false, status: []}',
      '{createdAfter: "2026-01-31T12:00:00Z"}', '{createdBefore: "2026-01-31T12:00:00.5Z"}', '{status: null}'],
    loose: ['{status: failed}', '{status: "FAILED"}', '{status: [null]}', '{nope: 1}', '{replay: 1}', '{createdAfter: 5}', '{createdAfter: "x"}',
      '{status: FAILED, status: FAILED}', '5', '[]', '[{}]', '{createdAfter: {}}', '{status: [[FAILED]]}', '{replay: true, replay: true}'],
    json: [{}, null, { status: 'FAILED' }, { status: ['CANCELLED', 'PENDING'], replay: true }, { unresolved: false }, { createdAfter: '2026-01-31T12:00:00Z' }],
    looseJSON: [{ status: 'failed' }, { status: [null] }, { nope: 1 }, { replay: 'x' }, { createdAfter: 5 }, { createdAfter: '' }, [], 5, { __typename: 'x' },
      { status: 0 }, { status: [['FAILED']] }],
  },
};
// What the canned answers do not have: places in lists, and the texts made of a lineage.
const LEFT_OUT = ['cursor', 'startCursor', 'endCursor', 'provenance', 'mermaid'];

export class Generator {
  constructor(schema, ids, seed) {
    Object.assign(this, { schema, seed });
    VALUES.ID.literals = ids.map((id) => `"${id}"`);
    VALUES.ID.json = ids;
  }

  random(n) { // mulberry32
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  }

  chance(percent) { return this.random(100) < percent; }

  pick(list) { return list[this.random(list.length)]; }

  request() {
    Object.assign(this, { declared: [], variables: {}, fragments: [], loosePercent: this.chance(50) ? 0 : 8 });
    const selection = this.selection(this.schema.getQueryType(), 4);
    const declared = this.declared.length > 0 ? `(${this.declared.join(', ')})` : '';
    const query = [`query q${declared} ${selection}`, ...this.fragments].join('\n');
    return { query: this.chance(25) ? this.spoil(query) : query, variables: this.variables };
  }

  selection(type, depth) {
    const parts = Array.from({ length: 1 + this.random(4) }, () => this.part(type, depth)).filter(Boolean);
    return `{ ${parts.length > 0 ? parts.join(' ') : '__typename'} }`;
  }

  part(type, depth) {
    if (isAbstractType(type) || this.chance(12)) return this.fragment(type, depth);
    const fields = Object.values(type.getFields()).filter(({ name }) => !LEFT_OUT.includes(name));
    const leaves = fields.filter((field) => isLeafType(getNamedType(field.type)));
    const field = this.pick(depth > 1 ? fields : leaves);
    if (!field || this.chance(5)) return this.chance(this.loosePercent) ? 'nope' : '__typename';
    const alias = this.chance(60) && field.args.length > 0 ? `a${this.random(50)}: ` : '';
    const args = field.args.map((arg) => this.argument(arg)).filter(Boolean);
    const below = getNamedType(field.type);
    return `${alias}${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}${this.directive()}`
      + (isLeafType(below) ? '' : ` ${this.selection(below, depth - 1)}`);
  }

  fragment(type, depth) {
    const on = isAbstractType(type) ? this.pick(this.schema.getPossibleTypes(type)) : type;
    const selection = depth > 1 ? this.selection(on, depth - 1) : '{ __typename }';
    if (this.chance(60)) return `... on ${on}${this.directive()} ${selection}`;
    const name = `f${this.fragments.length}`;
    this.fragments.push('');
    this.fragments[Number(name.slice(1))] = `fragment ${name} on ${on} ${selection}`;
    return `...${name}${this.directive()}`;
  }

  directive() {
    if (!this.chance(12)) return '';
    const condition = this.chance(50) ? this.pick(['true', 'false']) : this.variable('Boolean!', this.chance(this.loosePercent) ? 'true' : this.chance(50));
    return ` @${this.pick(['skip', 'include'])}(if: ${condition})`;
  }

  argument(arg) {
    const required = String(arg.type).endsWith('!');
    if (!required && this.chance(50)) return '';
    const loose = this.chance(this.loosePercent);
    const values = VALUES[getNamedType(arg.type).name];
    if (this.chance(70)) return `${arg.name}: ${this.pick(loose ? values.loose : values.literals)}`;
    const declared = this.chance(this.loosePercent) ? this.pick(['Int', 'String', 'ID', 'JobFilter', 'Nope', 'Job']) : String(arg.type);
    return `${arg.name}: ${this.variable(declared, this.pick(loose ? values.looseJSON : values.json))}`;
  }

  variable(type, value) {
    const name = `v${this.declared.length}`;
    this.declared.push(`$${name}: ${type}`);
    if (!this.chance(this.loosePercent)) this.variables[name] = value;
    return `$${name}`;
  }

  // spoil doubles or drops one token.
  spoil(query) {
    const tokens = query.match(/"[^"]*"|\.\.\.|[$@]?\w+|\S/g);
    const i = this.random(tokens.length);
    tokens.splice(i, 1, ...(this.chance(50) ? [] : [tokens[i], tokens[i]]));
    return tokens.join(' ');
  }
}
