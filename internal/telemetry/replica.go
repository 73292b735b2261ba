package telemetry

// CountReplicaReads adds the reads that may go to a replica of the database, by how they went, and returns what counts one.
// Call it once, with all outcomes that there are.
func (m *Metrics) CountReplicaReads(outcomes ...string) func(outcome string) {
	reads := newCounter("fencepost_replica_reads_total",
		"Reads that may go to the replica by how they went; all but the served ones went to the primary.",
		labelOf("outcome", outcomes...))
	m.registry.MustRegister(reads)
	return func(outcome string) { reads.WithLabelValues(outcome).Inc() }
}
