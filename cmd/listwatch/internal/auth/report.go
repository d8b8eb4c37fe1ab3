package auth

import (
	"reflect"

	"github.com/listwatch/listwatch/internal/printable"
)

// The results of a step of auth check.
const (
	statusOK      = "ok"
	statusWarning = "warning" // it succeeded, and something needs attention
	statusFailed  = "failed"
	statusNot     = "not tried"
)

// report is the result of auth check; with -o json, the document itself.
type report struct {
	V             int            `json:"v"`
	OK            bool           `json:"ok"` // all that was asked for may be listed and watched
	Configuration configuration  `json:"configuration"`
	Credentials   credentials    `json:"credentials"`
	Server        serverReport   `json:"server"`
	Identity      identityReport `json:"identity"`
	Rights        rightsReport   `json:"rights"`
}

// step is what every step has.
type step struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`
	Advice   string   `json:"advice,omitempty"` // what to do about it
}

// fail ends s with err; do is what can be done about it.
func (s *step) fail(err error, do string) {
	s.Status, s.Error, s.Advice = statusFailed, printable.Line(err.Error()), do
}

func (s *step) warn(text string) {
	s.Warnings = append(s.Warnings, printable.Line(text))
	if s.Status == statusOK {
		s.Status = statusWarning
	}
}

// configuration is what was read.
type configuration struct {
	step
	Files     []string `json:"files,omitempty"`
	InCluster bool     `json:"inCluster,omitempty"` // the service account of the pod
	Context   string   `json:"context,omitempty"`
	Cluster   string   `json:"cluster,omitempty"`
	User      string   `json:"user,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Flags     []string `json:"flags,omitempty"` // names, not values
}

// credentials say which kinds are shown to the server; of none of them the value.
type credentials struct {
	step
	Shown       []credential   `json:"shown"`
	Impersonate *impersonation `json:"impersonate,omitempty"`
}

// kindCommand is the credential that a command gives.
const kindCommand = "command"

type credential struct {
	Kind     string `json:"kind"`               // token, client certificate, basic, command
	From     string `json:"from,omitempty"`     // the file, or what holds it
	Subject  string `json:"subject,omitempty"`  // whom it names, as far as can be read without the server
	Issuer   string `json:"issuer,omitempty"`   // of a certificate
	NotAfter string `json:"notAfter,omitempty"` // RFC 3339
}

type impersonation struct {
	User   string              `json:"user"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
}

// serverReport is what answered.
type serverReport struct {
	step
	URL         string       `json:"url,omitempty"`
	Address     string       `json:"address,omitempty"` // what was connected to
	Proxy       string       `json:"proxy,omitempty"`
	Protocol    string       `json:"protocol,omitempty"`
	Version     string       `json:"version,omitempty"`
	Certificate *certificate `json:"certificate,omitempty"`
	ClockSkew   int          `json:"clockSkewSeconds,omitempty"` // ours is ahead by so much, if much
}

// certificate is what the server showed.
type certificate struct {
	Subject    string   `json:"subject"`
	Names      []string `json:"names,omitempty"`
	Issuer     string   `json:"issuer"`
	NotAfter   string   `json:"notAfter"`
	VerifiedBy string   `json:"verifiedBy,omitempty"` // empty = not verified
}

// identityReport is who we are for the server.
type identityReport struct {
	step
	User   string              `json:"user,omitempty"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
}

// rightsReport is what may be listed and watched.
type rightsReport struct {
	step
	Rows  []Right `json:"resources,omitempty"`
	asked bool    // types were given: each has its row in text, too
}

// Right is one collection.
type Right struct {
	Resource  string `json:"resource"` // plural and group: deployments.apps
	Version   string `json:"version"`
	Namespace string `json:"namespace,omitempty"` // empty = all, or cluster scoped
	Name      string `json:"name,omitempty"`
	List      answer `json:"list"`
	Watch     answer `json:"watch"`

	Namespaced bool `json:"-"`
}

// answer is the server's to one question.
type answer struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"` // it could not be asked
}

func newReport() *report {
	r := &report{V: 1}
	for _, s := range []*step{&r.Configuration.step, &r.Credentials.step, &r.Server.step, &r.Identity.step, &r.Rights.step} {
		s.Status = statusNot
	}
	return r
}

// conceal hides the credentials that the server repeats, in all texts of v, a pointer to a part of
// a report.
func conceal(v reflect.Value, hide func(string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hide(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			conceal(v.Elem(), hide)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			conceal(f, hide)
		}
	case reflect.Slice:
		for i := range v.Len() {
			conceal(v.Index(i), hide)
		}
	case reflect.Map: // the extra of a user
		extra := map[string][]string{}
		for k, values := range v.Interface().(map[string][]string) {
			conceal(reflect.ValueOf(values), hide)
			extra[hide(k)] = values
		}
		v.Set(reflect.ValueOf(extra))
	}
}
