package kube

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// IntOrString is a member that is a number or a string, such as targetPort of a Service
// or maxUnavailable of a Deployment. Its JSON is that of the API's IntOrString: the
// number, or the string. The zero value is the number 0. See
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/.
type IntOrString struct {
	Int    int32  // the number, if IsText is false
	Text   string // the string, if IsText is true
	IsText bool
}

// FromInt returns the number n.
func FromInt(n int32) IntOrString { return IntOrString{Int: n} }

// FromString returns the string s; "80" stays a string.
func FromString(s string) IntOrString { return IntOrString{Text: s, IsText: true} }

// String returns the string, or the number in decimal.
func (v IntOrString) String() string {
	if v.IsText {
		return v.Text
	}
	return strconv.Itoa(int(v.Int))
}

// MarshalJSON returns a JSON number or a JSON string.
func (v IntOrString) MarshalJSON() ([]byte, error) {
	if v.IsText {
		return json.Marshal(v.Text)
	}
	return json.Marshal(v.Int)
}

// UnmarshalJSON reads an integer of 32 bits, a string, or null, which is the number 0. It
// replaces the whole value. On an error it changes nothing.
func (v *IntOrString) UnmarshalJSON(b []byte) error {
	var read IntOrString
	into := any(&read.Int)
	if read.IsText = len(b) > 0 && b[0] == '"'; read.IsText {
		into = &read.Text
	}
	if json.Unmarshal(b, into) != nil { // its error contains the value
		return errors.New("an IntOrString is an integer of 32 bits or a string")
	}
	*v = read
	return nil
}

// MicroTime is a time with six digits after the second, such as renewTime of a Lease and
// eventTime of an Event. Its JSON is that of the API's MicroTime: UTC, with six digits,
// and null for the zero time.
type MicroTime struct{ time.Time }

const microLayout = "2006-01-02T15:04:05.000000Z07:00"

// MarshalJSON returns the time in UTC, truncated to microseconds, or null for the zero
// time.
func (t MicroTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.UTC().Format(microLayout))
}

// UnmarshalJSON reads a time of RFC 3339 with six digits after the second, as the API
// server requires, or null, which is the zero time. The result is in UTC.
func (t *MicroTime) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = MicroTime{}
		return nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	at, parseErr := time.Parse(microLayout, s)
	if err != nil || parseErr != nil { // their texts contain the value
		return errors.New("a MicroTime is a time of RFC 3339 with six digits after the second")
	}
	*t = MicroTime{at.UTC()}
	return nil
}
