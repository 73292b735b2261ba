// The rules of schema.graphqls: graphql-eslint's recommended and relay sets, with the exceptions below.
import graphql from '@graphql-eslint/eslint-plugin';

const ruleSets = ['flat/schema-recommended', 'flat/schema-relay'];

export default [
  {
    files: ['schema.graphqls'],
    languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: 'schema.graphqls' } } },
    plugins: { '@graphql-eslint': graphql },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      ...Object.assign({}, ...ruleSets.map((name) => graphql.configs[name].rules)),

      // Stricter: everything that has a name is described.
      '@graphql-eslint/require-description': [
        'error',
        { types: true, rootField: true, FieldDefinition: true, InputValueDefinition: true, EnumValueDefinition: true },
      ],

      // A description is a string when it fits on a line, and a block when it does not. The rule wants one form for all.
      '@graphql-eslint/description-style': 'off',

      // Pages go forwards only. Relay allows that, and the rule wants both ways unless told.
      '@graphql-eslint/relay-arguments': ['error', { includeBoth: false }],

      // Lists that are short, or that belong together as a whole, need no cursors.
      '@graphql-eslint/relay-edge-types': [
        'error',
        { withEdgeSuffix: true, shouldImplementNode: true, listTypeCanWrapOnlyEdgeType: false },
      ],

      // These are parts and outcomes of jobs, which can't be fetched again by themselves.
      '@graphql-eslint/strict-id-in-types': [
        'error',
        {
          exceptions: {
            types: ['JobAttempt', 'JobStatusCount', 'Lineage', 'PageInfo', 'Problem', 'RecordError'],
            suffixes: ['Connection', 'Edge', 'Success'],
          },
        },
      ],
    },
  },
];
