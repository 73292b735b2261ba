package job_test

import (
	"strings"

	"fencepost/internal/job"
)

// batchesByVerdict lists texts by the code that refuses them, or "".
func batchesByVerdict() map[job.Code][]string {
	return map[job.Code][]string{
		"":                    acceptedBatches(),
		job.CodeInvalidJSON:   notBatches(),
		job.CodeInvalidRecord: append(invalidRecords(), batchesBeyondJSONB()...),
		job.CodeBatchTooLarge: {`[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]`},
	}
}

func acceptedBatches() []string {
	return []string{
		`[{"id":"a"}]`,
		`[{"id":"a"},{"id":"a"}]`,
		`[{"x":{"id":5},"id":"a"}]`,
		`[{"\u0069d":"a"}]`,
		`[{"id":"a","":null,"ID":1,"t":true,"f":false,"o":{},"l":[]}]`,
		`[{"id":"a","x":"\ud83d\ude00 \" \\ \/ \b\f\n\r\t"}]`,
		`[{"id":"a","x":[{"a":1},{"a":2}],"a":3}]`,
		`[{"id":"a","x":` + nested(62) + `}]`,
	}
}

func notBatches() []string {
	return []string{
		``, ` `, `null`, `1`, `"a"`, `{}`, `{"id":"a"}`,
		`[`, `]`, `[1`, `[{`, `[{"id"`, `[{"id":`, `[{"id":"a"`, `[{"id":"a"}`, `[{"id":"a"]`, `[1}`,
		`[1,]`, `[,1]`, `[1 2]`, `[{} {}]`, `[{"id":"a",}]`, `[{"id":"a" "b":1}]`, `[{id:"a"}]`, `[{1:2}]`,
		`[] []`, `[],`, `[]]`, `[] x`, `[1]{`, "[]\x00", "\xef\xbb\xbf[]",
		`['a']`, `[01]`, `[+1]`, `[.5]`, `[1.]`, `[1e]`, `[NaN]`, `[tru]`, `[/**/]`, `["\x41"]`, `["\u12"]`, "[\"\t\"]",
		`[{"id":"a","id":"a"}]`, `[{"id":"a","\u0069\u0064":"b"}]`, `[{"id":"a","x":[{"y":1,"y":2}]}]`,
		"[{\"id\":\"\xff\"}]", "[{\"id\":\"\xed\xa0\x80\"}]", "[{\"id\":\"\xc0\x80\"}]", "\xff[]", "[{\"\xff\":1}]",
		nested(65), `[{"id":"a","x":` + nested(63) + `}]`, strings.Repeat("[", 1000),
	}
}

func invalidRecords() []string {
	return []string{
		`[null]`, `[1]`, `["id"]`, `[true]`, `[[]]`, `[["id","a"]]`, nested(64),
		`[{}]`, `[{"ID":"a"}]`, `[{"x":{"id":"a"}}]`, `[{"x":"id"}]`,
		`[{"id":null}]`, `[{"id":1}]`, `[{"id":["a"]}]`, `[{"id":{"id":"a"}}]`, `[{"id":true,"x":"a"}]`,
		`[{"id":"a"},{}]`, `[{},{"id":"a"}]`,
	}
}

// batchesBeyondJSONB are JSON that PostgreSQL's jsonb cannot hold.
func batchesBeyondJSONB() []string {
	return []string{
		`[{"id":"a\u0000"}]`, `[{"id":"a","x":"\u0000"}]`, `[{"id":"a","\u0000":1}]`, `[{"id":"a","x":[{"y\u0000":1}]}]`,
		`[{"id":"\ud800"}]`, `[{"id":"a","x":"\ud800\u0041"}]`, `[{"id":"a","x":"\udc00\ud800"}]`, `[{"id":"a","\udfff":1}]`,
		`[{"id":"a","n":1e131072}]`, `[{"id":"a","n":[-1e-16384]}]`,
	}
}

// nested is an array in an array, and so on, of as many levels.
func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// numbers are edges of PostgreSQL's numeric, and whether it holds them. A property test
// asks the server itself.
func numbers() map[string]bool {
	return map[string]bool{
		"0":                     true,
		"-0":                    true,
		"-0.0":                  true,
		"1e+5":                  true,
		"1E5":                   true,
		"1e131071":              true,
		"-1e131071":             true,
		"1e131072":              false,
		"-1e131072":             false,
		"10e131071":             false,
		"0.1e131072":            true,
		"0.001e131074":          true,
		"0.001e131075":          false,
		"1e999999":              false,
		"1e-16383":              true,
		"1e-16384":              false,
		"0.1e-16382":            true,
		"0.1e-16383":            false,
		"1.5e-16383":            false,
		"100000e-16383":         true,
		"100000e-16388":         false,
		"1.000e-16381":          false,
		"0e131072":              true,
		"0e-16384":              false,
		"0.0e-16382":            true,
		"0e1000000":             true,
		"0e1073741822":          true,
		"0e1073741824":          false,
		"0e-1073741824":         false,
		"0e9223372036854775808": false,
		"1e0000000000000000001": true,

		strings.Repeat("9", 131072):                                    true,
		"1" + strings.Repeat("0", 131072):                              false,
		"0." + strings.Repeat("9", 16383):                              true,
		"0." + strings.Repeat("0", 16384):                              false,
		strings.Repeat("9", 131072) + "." + strings.Repeat("9", 16383): true,
	}
}
