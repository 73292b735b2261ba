package job

// Written is how many bytes jsonb writes for a batch.
func Written(batch string) int { return readBatch([]byte(batch)).written }
