package job_test

import (
	"slices"
	"strings"

	"fencepost/internal/job"
)

// batchesByVerdict lists texts by the code that refuses them, or "".
func batchesByVerdict() map[job.Code][]string {
	return map[job.Code][]string{
		"":                    acceptedBatches(),
		job.CodeInvalidJSON:   notBatches(),
		job.CodeInvalidRecord: slices.Concat(invalidRecords(), batchesBeyondJSONB(), batchesOfLongNumbers()),
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
	}
}

// batchesOfLongNumbers hold numbers that are too long when they are written out.
func batchesOfLongNumbers() []string {
	return []string{
		`[{"id":"a","n":1e131072}]`, `[{"id":"a","n":[-1e-16384]}]`, `[{"id":"a","n":[` + strings.Repeat("1e131071,", 8299) + `1e131071]}]`,
		`[{"id":"a","n":{"n":1e1000}}]`, `[{"id":"a","n":` + strings.Repeat("9", 1001) + `}]`,
	}
}

// nested is an array in an array, and so on, of as many levels.
func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// numbers are edges of what is written out with a thousand digits, and of what numeric reads.
func numbers() map[string]bool {
	return map[string]bool{
		"0":                     true,
		"-0":                    true,
		"-0.0":                  true,
		"1e+5":                  true,
		"1E5":                   true,
		"1e999":                 true,
		"-1e999":                true,
		"1e1000":                false,
		"-1e1000":               false,
		"10e999":                false,
		"0.1e1000":              true,
		"0.001e1002":            true,
		"0.001e1003":            false,
		"1e131071":              false,
		"1e131072":              false,
		"1e999999":              false,
		"1e-999":                true,
		"1e-1000":               false,
		"1e-2000":               false,
		"1e-16384":              false,
		"0.1e-998":              true,
		"0.1e-999":              false,
		"1.5e-999":              false,
		"100000e-999":           true,
		"100000e-1004":          false,
		"1.000e-997":            false,
		"0e131072":              true,
		"0e-999":                true,
		"0e-1000":               false,
		"0.0e-998":              true,
		"0e1000000":             true,
		"0e1073741822":          true,
		"0e1073741824":          false,
		"0e-1073741824":         false,
		"0e9223372036854775808": false,
		"1e0000000000000000001": true,

		strings.Repeat("9", 1000):                                 true,
		"1" + strings.Repeat("0", 1000):                           false,
		"0." + strings.Repeat("9", 999):                           true,
		"0." + strings.Repeat("0", 1000):                          false,
		strings.Repeat("9", 400) + "." + strings.Repeat("9", 600): true,
		strings.Repeat("9", 401) + "." + strings.Repeat("9", 600): false,
	}
}
