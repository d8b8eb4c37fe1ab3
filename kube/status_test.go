package kube_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

var sentinels = []error{
	kube.ErrInvalid, kube.ErrUnauthorized, kube.ErrForbidden, kube.ErrNotFound, kube.ErrExists,
	kube.ErrConflict, kube.ErrGone, kube.ErrThrottled, kube.ErrTooLargeRevision, kube.ErrUnavailable,
}

// TestStatusThatIsNil: a function may return a nil *Status as an error.
func TestStatusThatIsNil(t *testing.T) {
	var err error = (*kube.Status)(nil)
	if got := err.Error(); got != "server: an error without a message" {
		t.Errorf("Error: %q", got)
	}
	for _, is := range sentinels {
		if errors.Is(err, is) {
			t.Errorf("it is %v", is)
		}
	}
}

func TestStatusIs(t *testing.T) {
	for _, tt := range []struct {
		name string
		body string
		want []error
	}{
		{"nothing", `{}`, nil},
		{"teapot", `{"code":418}`, nil},
		{"bad request", `{"code":400,"reason":"BadRequest"}`, []error{kube.ErrInvalid}},
		{"bad request by code", `{"code":400}`, []error{kube.ErrInvalid}},
		{"bad request by reason", `{"reason":"BadRequest"}`, []error{kube.ErrInvalid}},
		{"method not allowed", `{"code":405,"reason":"MethodNotAllowed"}`, []error{kube.ErrInvalid}},
		{"not acceptable", `{"code":406,"reason":"NotAcceptable"}`, []error{kube.ErrInvalid}},
		{"too large a body", `{"code":413,"reason":"RequestEntityTooLarge"}`, []error{kube.ErrInvalid}},
		{"media type", `{"code":415,"reason":"UnsupportedMediaType"}`, []error{kube.ErrInvalid}},
		{"invalid", `{"code":422,"reason":"Invalid"}`, []error{kube.ErrInvalid}},
		{"unauthorized", `{"code":401,"reason":"Unauthorized"}`, []error{kube.ErrUnauthorized}},
		{"forbidden", `{"code":403,"reason":"Forbidden"}`, []error{kube.ErrForbidden}},
		{"not found", `{"code":404,"reason":"NotFound"}`, []error{kube.ErrNotFound}},
		{"no such path", `{"code":404}`, []error{kube.ErrNotFound}},
		{"exists", `{"code":409,"reason":"AlreadyExists"}`, []error{kube.ErrExists}},
		{"conflict", `{"code":409,"reason":"Conflict"}`, []error{kube.ErrConflict}},
		{"conflict by code", `{"code":409}`, []error{kube.ErrConflict}},
		{"gone by code", `{"code":410}`, []error{kube.ErrGone}},
		{"gone", `{"code":410,"reason":"Gone"}`, []error{kube.ErrGone}},
		{"expired", `{"code":410,"reason":"Expired"}`, []error{kube.ErrGone}},
		{"expired by reason", `{"reason":"Expired"}`, []error{kube.ErrGone}},
		{"throttled", `{"code":429,"reason":"TooManyRequests"}`, []error{kube.ErrThrottled}},
		{"throttled by code", `{"code":429}`, []error{kube.ErrThrottled}},
		{"internal error", `{"code":500,"reason":"InternalError"}`, []error{kube.ErrUnavailable}},
		{"internal error by reason", `{"reason":"InternalError"}`, []error{kube.ErrUnavailable}},
		{"bad gateway", `{"code":502}`, []error{kube.ErrUnavailable}},
		{"unavailable", `{"code":503,"reason":"ServiceUnavailable"}`, []error{kube.ErrUnavailable}},
		{"timeout", `{"code":504,"reason":"Timeout"}`, []error{kube.ErrUnavailable}},
		{
			"too large by cause",
			`{"code":504,"reason":"Timeout","message":"Too large resource version: 9, current: 8","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}`,
			[]error{kube.ErrTooLargeRevision},
		},
		{
			"too large by the message of a cause",
			`{"code":504,"reason":"Timeout","message":"timed out","details":{"causes":[{"message":"Too large resource version"}]}}`,
			[]error{kube.ErrTooLargeRevision},
		},
		{
			"too large by message",
			`{"code":504,"reason":"Timeout","message":"Too large resource version: 9, current: 8"}`,
			[]error{kube.ErrTooLargeRevision},
		},
		{
			"too large by reason, in an event without a code",
			`{"reason":"Timeout","message":"Too large resource version: 9, current: 8"}`,
			[]error{kube.ErrTooLargeRevision},
		},
		{
			"not too large without a timeout",
			`{"code":400,"reason":"BadRequest","message":"Too large resource version"}`,
			[]error{kube.ErrInvalid},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var st kube.Status
			if err := json.Unmarshal([]byte(tt.body), &st); err != nil {
				t.Fatal(err)
			}
			err := fmt.Errorf("wrapped: %w", &st)
			var got []error
			for _, s := range sentinels {
				if errors.Is(err, s) {
					got = append(got, s)
				}
			}
			if diff := cmp.Diff(texts(tt.want), texts(got)); diff != "" {
				t.Errorf("errors.Is (-want +got):\n%s", diff)
			}
		})
	}
}

func texts(errs []error) []string {
	var s []string
	for _, err := range errs {
		s = append(s, err.Error())
	}
	return s
}

func TestStatusError(t *testing.T) {
	for _, tt := range []struct {
		st   kube.Status
		want string
	}{
		{kube.Status{}, "server: an error without a message"},
		{kube.Status{Code: 599}, "server: an error without a message (599)"},
		{kube.Status{Code: 502}, "server: bad gateway (502)"},
		{kube.Status{Message: "no"}, "server: no"},
		{kube.Status{Reason: "Expired", Message: "too old"}, "server: too old (Expired)"},
		{kube.Status{Code: 410, Reason: "Expired", Message: " too old\n"}, "server: too old (410 Expired)"},
		{kube.Status{Code: 403, Message: "a\u202eb\u2028c\u200fd é 名"}, "server: a b c d é 名 (403)"},
		{kube.Status{Code: 410, Reason: "Ex\npired", Message: "a\r\n\x1b[31mb\x00\u009bc"}, "server: a [31mb c (410 Ex pired)"},
	} {
		if got := tt.st.Error(); got != tt.want {
			t.Errorf("%#v.Error() = %q, want %q", tt.st, got, tt.want)
		}
	}
}

// TestStatusErrorQuotesNoObject: kube-apiserver refuses a patch of a Secret by quoting
// the whole patched object, or the patch, or the value that an apply has in place of text.
func TestStatusErrorQuotesNoObject(t *testing.T) {
	for message, want := range map[string]string{
		` "" is invalid: patch: Invalid value: "{\"apiVersion\":\"v1\",\"data\":{\"pw\":\"aHVudGVyMg==\",\"x\":1}}": json: cannot unmarshal number`: `server: "" is invalid: patch: Invalid value: "...": json: cannot unmarshal number (422)`,
		` "" is invalid: patch: Invalid value: "map[stringData:map[pw:aHVudGVyMg==]]": cannot convert`:                                              `server: "" is invalid: patch: Invalid value: "...": cannot convert (422)`,
		`Foo "a" is invalid: [spec.a: Invalid value: "{}": no, spec.b: Invalid value: "{\"a\":\"aHVudGVyMg==\"}": no]`:                              `server: Foo "a" is invalid: [spec.a: Invalid value: "...": no, spec.b: Invalid value: "...": no] (422)`,
		`Invalid value: "{\"a\":\"aHVudGVyMg==`: `server: Invalid value: "... (422)`,
		`spec.a: Invalid value: "x{y": no`:      `server: spec.a: Invalid value: "x{y": no (422)`,

		`Job.batch "j" is invalid: [spec.template: Invalid value: {"Env":[{"Value":"aHVudGVyMg=="}]}: field is immutable, spec.b: Required value]`: `server: Job.batch "j" is invalid: [spec.template: Invalid value: ...: field is immutable, spec.b: Required value] (422)`,
		`spec.a: Invalid value: [{"Value":"aHVudGVyMg=="}]: no`:                                                                                                                            `server: spec.a: Invalid value: ...: no (422)`,
		`spec.template: Invalid value: core.PodTemplateSpec{Value:"aHVudGVyMg=="}: field is immutable`:                                                                                     `server: spec.template: Invalid value: ... (422)`,
		`spec.a: Invalid value: []core.EnvVar{core.EnvVar{Value:"aHVudGVyMg=="}}: no`:                                                                                                      `server: spec.a: Invalid value: ... (422)`,
		`spec.a: Invalid value: {"Value":"aHVudGVyMg==`:                                                                                                                                    `server: spec.a: Invalid value: ... (422)`,
		`spec.a: Invalid value: 5: must be {1,2}`:                                                                                                                                          `server: spec.a: Invalid value: 5: must be {1,2} (422)`,
		`failed to create typed patch object (d/s; /v1, Kind=Secret): .data: expected map, got &{aHVudGVyMg==}`:                                                                            `server: failed to create typed patch object (d/s; /v1, Kind=Secret): .data: expected map, got ... (422)`,
		"errors:\n  .data.k: expected string, got &value.valueUnstructured{Value:12}\n  .data.l: expected string, got &{\nx}":                                                              `server: errors:   .data.k: expected string, got ... (422)`,
		`list element types are not identical: [[map[name:PASS value:aHVudGVyMg==]] [aHVudGVyMg==]]`:                                                                                       `server: list element types are not identical: ... (422)`,
		"Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.tolerations` (only additions)\n@@ -13,7 +13,7 @@\n-     \"Value\": \"aHVudGVyMg==\",\n": "server: Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.tolerations` (only additions) ... (422)",
		`the object provided is unrecognized (must be of type Secret): couldn't get version/kind; json parse error: invalid character 'h' (68756e74657232)`:                                `server: the object provided is unrecognized (must be of type Secret): couldn't get version/kind; json parse error: invalid character 'h' (422)`,
	} {
		if got := (&kube.Status{Code: 422, Message: message}).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestStatusErrorIsShort(t *testing.T) {
	st := kube.Status{Code: 500, Reason: strings.Repeat("R", 1<<20), Message: strings.Repeat("é", 1<<20)}
	got := st.Error()
	if len(got) > 5<<10 || !utf8.ValidString(got) {
		t.Errorf("the error has %d bytes, valid %t", len(got), utf8.ValidString(got))
	}
}

func TestStatusUnmarshal(t *testing.T) {
	const body = `{"kind":"Status","apiVersion":"v1","metadata":{"continue":"next","resourceVersion":"8"},"status":"Failure",
		"message":"m","reason":"Expired","details":{"name":"n","group":"g","kind":"pods","uid":"u",
		"causes":[{"reason":"r","message":"cm","field":"f"}],"retryAfterSeconds":2},"code":410}`
	var got kube.Status
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := kube.Status{
		Code: 410, Reason: "Expired", Message: "m",
		Metadata: kube.StatusMeta{Continue: "next", ResourceVersion: "8"},
		Details: &kube.StatusDetails{
			Name: "n", Group: "g", Kind: "pods", UID: "u", RetryAfterSeconds: 2,
			Causes: []kube.StatusCause{{Reason: "r", Message: "cm", Field: "f"}},
		},
		RetryAfter: time.Duration(0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
}
