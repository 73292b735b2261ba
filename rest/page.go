package rest

import (
	"net/url"
	"slices"
	"strconv"

	"fencepost/internal/job"
)

// listQuery is the query of a list, checked. It is strict: what is misspelled, repeated or unknown is refused, since
// ignoring it would answer a question that the client did not ask.
type listQuery struct {
	values url.Values
	page   job.PageRequest
}

// parseQuery reads a query that may have the named parameters.
func parseQuery(raw string, names ...string) (listQuery, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return listQuery{}, job.Refuse(job.CodeInvalidPageRequest)
	}
	for name, given := range values {
		repeated := len(given) > 1 && name != "status"
		if !slices.Contains(names, name) || repeated || given[0] == "" {
			return listQuery{}, job.Refuse(job.CodeInvalidPageRequest)
		}
	}
	limit, err := parseLimit(values)
	return listQuery{values: values, page: job.PageRequest{Limit: limit, Cursor: values.Get("cursor")}}, err
}

// parseLimit reads a plain decimal number; the service knows its range.
func parseLimit(values url.Values) (int, error) {
	if !values.Has("limit") {
		return job.DefaultPageSize, nil
	}
	limit, err := strconv.Atoi(values.Get("limit"))
	if err != nil || strconv.Itoa(limit) != values.Get("limit") {
		return 0, job.Refuse(job.CodeInvalidPageRequest)
	}
	return limit, nil
}

// filter reads status and replay. The statuses are put in order, so that a cursor fits the same set in another one.
func (q listQuery) filter() (job.Filter, error) {
	var f job.Filter
	for _, status := range q.values["status"] {
		f.Statuses = append(f.Statuses, job.Status(status))
	}
	slices.Sort(f.Statuses)
	f.Statuses = slices.Compact(f.Statuses)
	if !q.values.Has("replay") {
		return f, nil
	}
	text := q.values.Get("replay")
	if text != "true" && text != "false" {
		return f, job.Refuse(job.CodeInvalidPageRequest)
	}
	replay := text == "true"
	f.Replay = &replay
	return f, nil
}

// link adds the Link to the next page (RFC 8288), if there is one: the same query at a later place.
func (q listQuery) link(resp response, path string, next string) response {
	if next == "" {
		return resp
	}
	q.values.Set("cursor", next)
	resp.header["Link"] = "<" + path + "?" + q.values.Encode() + `>; rel="next"`
	return resp
}
