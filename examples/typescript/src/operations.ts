// The operations of this program. `npm run generate` gives each of them the types of its variables and of its answer.
import { graphql } from './generated/gql.js';

export const Submit = graphql(`
  mutation Submit($input: SubmitJobInput!) {
    submitJob(input: $input) {
      __typename
      ... on SubmitJobSuccess { job { id status } }
      ... on Problem { code detail }
    }
  }
`);

export const Cancel = graphql(`
  mutation Cancel($input: CancelJobInput!) {
    cancelJob(input: $input) {
      __typename
      ... on CancelJobSuccess { job { id status canReplay } }
      ... on Problem { code detail }
    }
  }
`);

export const Replay = graphql(`
  mutation Replay($input: ReplayJobInput!) {
    replayJob(input: $input) {
      __typename
      ... on ReplayJobSuccess { job { id status replayGeneration } }
      ... on Problem { code detail }
    }
  }
`);

export const Job = graphql(`
  query Job($id: ID!) {
    job(jobRecordId: $id) { id status failureCode }
  }
`);

export const Lineage = graphql(`
  query Lineage($id: ID!, $after: String) {
    lineage(jobRecordId: $id) {
      jobCount
      jobs(first: 1, after: $after) {
        nodes { id status replayGeneration }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);
