package jobtype

// RecordErrorCode says what is wrong with a record of a batch. The list is closed.
type RecordErrorCode string

// The codes of what is wrong with a record.
const (
	// RecordNotAnObject: the record is no JSON object.
	RecordNotAnObject RecordErrorCode = "not_an_object"
	// RecordMissingID: it has no member "id".
	RecordMissingID RecordErrorCode = "missing_id"
	// RecordIDNotString: its id is another value than a string.
	RecordIDNotString RecordErrorCode = "id_not_string"
	// RecordIDBlank: its id is empty, or white space.
	RecordIDBlank RecordErrorCode = "id_blank"
	// RecordIDTooLong: its id has more than 256 code points.
	RecordIDTooLong RecordErrorCode = "id_too_long"
	// RecordIDUnprintable: its id has control or format characters, or separators of lines.
	RecordIDUnprintable RecordErrorCode = "id_unprintable"
	// RecordDuplicateMember: an object in it has two members of one name. The text is no batch then.
	RecordDuplicateMember RecordErrorCode = "duplicate_member"
	// RecordNumberTooLarge: a number in it has more than 1,000 digits when it is written out in full.
	RecordNumberTooLarge RecordErrorCode = "number_too_large"
	// RecordStringNotStorable: a name or string in it has the character NUL, or half of a surrogate pair.
	RecordStringNotStorable RecordErrorCode = "string_not_storable"
	// RecordTooDeep: it is nested deeper than 64 levels, the batch's own array included. The text is no batch then.
	RecordTooDeep RecordErrorCode = "too_deep"
)

// RecordErrorCodes lists every code.
var RecordErrorCodes = []RecordErrorCode{
	RecordNotAnObject, RecordMissingID, RecordIDNotString, RecordIDBlank, RecordIDTooLong, RecordIDUnprintable,
	RecordDuplicateMember, RecordNumberTooLarge, RecordStringNotStorable, RecordTooDeep,
}

// RecordError is what is wrong with one record, and where. Nothing of it is from the record itself.
type RecordError struct {
	// Pointer is a JSON Pointer (RFC 6901) into the batch: "/730" is the record with the index 730, counted from 0, whatever is
	// wrong deeper in it, and "/730/id" its id.
	Pointer string `json:"pointer"`
	// Code is what is wrong.
	Code RecordErrorCode `json:"code"`
}
