// tabs are what a new visitor finds: one for each thing to do, in the order of a first visit.
export const tabs = [
  {
    query: `# Accept a batch of records as a new job. The same key again does nothing twice.
mutation Submit($input: SubmitJobInput!) {
  submitJob(input: $input) {
    ... on SubmitJobSuccess {
      idempotencyReplayed
      job { id status recordCount createdAt }
    }
    ... on Problem { code detail retryAfter }
  }
}
`,
    variables: json({
      input: { requestPayload: '[{"id": "first", "amount": 1}]', idempotencyKey: 'playground-submit-1' },
    }),
  },
  {
    query: `# Cancel a job that is pending or running. A refusal tells the state of the job.
mutation Cancel($input: CancelJobInput!) {
  cancelJob(input: $input) {
    ... on CancelJobSuccess {
      idempotencyReplayed
      job { id status cancellationCode cancelledAt }
    }
    ... on Problem { code detail retryAfter relatedJob { id status } }
  }
}
`,
    variables: json({ input: { jobRecordId: 'the id of a job', idempotencyKey: 'playground-cancel-1' } }),
  },
  {
    query: `# Run a failed or cancelled job once more, with exactly the records it was submitted with.
mutation Replay($input: ReplayJobInput!) {
  replayJob(input: $input) {
    ... on ReplayJobSuccess {
      idempotencyReplayed
      job { id status replayGeneration replaySource { id status } }
    }
    ... on Problem { code detail retryAfter relatedJob { id status } }
  }
}
`,
    variables: json({
      input: {
        sourceJobRecordId: 'the id of a failed or cancelled job',
        requestPayload: '[{"id": "first", "amount": 1}]',
        idempotencyKey: 'playground-replay-1',
      },
    }),
  },
  {
    query: `# The family of a job. The page /lineage/{jobRecordId} draws it.
query Lineage($jobRecordId: ID!) {
  lineage(jobRecordId: $jobRecordId) {
    jobCount
    generationCount
    statusCounts { status count }
    ancestry { id status replayGeneration }
    jobs(first: 20) {
      nodes { id status attemptCount failureCode cancellationCode replayGeneration }
      pageInfo { hasNextPage endCursor }
    }
  }
}
`,
    variables: json({ jobRecordId: 'the id of a job' }),
  },
  {
    query: `# Follow a job: its state now, then each change, until it has ended.
subscription Follow($jobRecordId: ID!) {
  jobChanged(jobRecordId: $jobRecordId) {
    id
    status
    attemptCount
    failureCode
    cancellationCode
    updatedAt
  }
}
`,
    variables: json({ jobRecordId: 'the id of a job' }),
  },
];

function json(value) {
  return JSON.stringify(value, null, 2);
}
