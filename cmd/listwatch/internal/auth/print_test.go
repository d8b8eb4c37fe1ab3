package auth

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestReportFitsThePage: whatever a server says, a line has 80 columns at most,
// but for a word that is longer by itself, and nothing that a terminal obeys.
func TestReportFitsThePage(t *testing.T) {
	r := newReport()
	r.Configuration.step = step{Status: statusWarning, Warnings: []string{strings.Repeat("word ", 40) + "\x1b[31m\nthe end"}}
	r.Configuration.Files = []string{"/" + strings.Repeat("long", 30)}
	r.Credentials.Shown = []credential{{Kind: "token", Subject: "a"}, {Kind: "client certificate", Subject: "CN=b", Issuer: "CN=c", NotAfter: "2030-01-02T03:04:05Z", From: "/d"}}
	r.Credentials.Impersonate = &impersonation{User: "jane", UID: "7", Groups: []string{"g", "h"}, Extra: map[string][]string{"k": {"v", "w"}, "j": {"x"}}}
	var rows []Right
	for range 60 {
		rows = append(rows, Right{Resource: "widgets.example.com", Namespaced: true, List: answer{Allowed: true}})
	}
	r.Rights = rightsReport{step: step{Status: statusFailed, Error: "because", Advice: "so"}, Rows: append(rows, Right{Resource: "pods", List: answer{Allowed: true}, Watch: answer{Allowed: true}})}
	text, err := r.print("")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q would move a cursor", line)
		}
		if words := strings.Fields(line); utf8.RuneCountInString(line) > pageWidth && len(words) > 2 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	want := `credentials    not tried
  shown        token of a
  shown        client certificate of CN=b, issued by CN=c, until 2030-01-02
               03:04 UTC, from /d
  acting as    jane
    uid        7
    groups     g, h
    extra      j=x
    extra      k=v,w
server         not tried
identity       not tried
rights         failed
  list, watch  1 of 61 types: pods
  only list    60 of 61 types: `
	_, got, _ := strings.Cut(text, "credentials")
	if diff := cmp.Diff(want, ("credentials" + got)[:len(want)]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "and 40 more (-o json has all)\n  error        because\n  to do        so\n") {
		t.Errorf("it ends otherwise:\n%s", text)
	}
}

// TestTokenSaysOfItselfWhatItIs: a JSON Web Token is told by its claims, and
// nothing else of it; another token by nothing.
func TestTokenSaysOfItselfWhatItIs(t *testing.T) {
	for _, test := range []struct {
		token   string
		want    credential
		warning string
	}{
		{"opaque", credential{Kind: "token"}, ""},
		{"a.b.c", credential{Kind: "token"}, ""},
		{"x.eyJzdWIiOiJqYW5lIn0.y", credential{Kind: "token", Subject: "jane"}, ""},
		{"x.eyJzdWIiOiJqYW5lIiwiZXhwIjoxNTc3OTM0MjQ1fQ.y", credential{Kind: "token", Subject: "jane", NotAfter: "2020-01-02T03:04:05Z"}, "the token expired at 2020-01-02 03:04 UTC"},
		{"x.eyJleHAiOjFlMzB9.y", credential{Kind: "token"}, ""},
	} {
		got, warning := tokenOf(test.token, "")
		if diff := cmp.Diff(test.want, got); diff != "" || warning != test.warning {
			t.Errorf("%s: %q (-want +got):\n%s", test.token, warning, diff)
		}
	}
}
