package job

import "fencepost/jobtype"

// Problem is an expected refusal. The doors turn it into their own form; its texts come from [Code.Define].
type Problem struct {
	// Code says which refusal it is.
	Code Code
	// Job is the owner's job that the refusal is about, where there is one.
	Job *Job
	// Allowed are the values that would have been taken, where there is a list of them.
	Allowed []string
	// Errors are what is wrong with records of a batch, in their order, of the first of them.
	Errors []jobtype.RecordError
	// Offset is where in the bytes of a batch its text stops being one, or nil.
	Offset *int64
}

// Refuse makes a refusal that is about no particular job.
func Refuse(code Code) *Problem { return &Problem{Code: code} }

// Error is the code alone, so that logging a problem can leak nothing.
func (p *Problem) Error() string { return string(p.Code) }
