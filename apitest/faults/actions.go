package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// action is an action of a script. The table of actions defines the parser, the help
// and the handlers.
type action struct {
	name   string
	params []param
	where  where
	doc    string
	make   func(args) http.HandlerFunc
}

// where is what an action can be applied to.
type where int

const (
	anywhere   where = iota // a response, or after= in a watch
	whole                   // a whole response: not with after=
	notWatches              // like whole, but not to watches
	streams                 // watches only
)

// param is one argument. Optional ones are last.
type param struct {
	name     string
	kind     kind
	optional bool
}

type kind int

const (
	number   kind = iota // 0 to maxNumber
	duration             // 0 to a day, as Go writes it; some may be negative
	text
	code // of HTTP
	decimal
)

const (
	maxNumber   = 256 << 20
	maxDuration = 24 * time.Hour
)

// args are the checked arguments; missing ones are "".
type args []string

func (a args) number(i int) int             { n, _ := strconv.Atoi(a[i]); return n }
func (a args) duration(i int) time.Duration { d, _ := time.ParseDuration(a[i]); return d }

// check returns the canonical form of an argument.
func (p param) check(v string) (string, error) {
	switch p.kind {
	case number, code, decimal:
		low, high, what := 0, maxNumber, "a number"
		if p.kind == code {
			low, high, what = 200, 599, "an HTTP status code"
		}
		if p.kind == decimal {
			high, what = 1<<53, "a revision"
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return "", fmt.Errorf("want %s from %d to %d, not %q", what, low, high, v)
		}
		return strconv.Itoa(n), nil
	case duration:
		d, err := time.ParseDuration(v)
		if err != nil || d > maxDuration || d < -maxDuration {
			return "", fmt.Errorf("want a duration such as 300ms or 2m, of a day at most, not %q", v)
		}
		return d.String(), nil
	}
	return v, nil
}

// plain wraps a constructor without arguments.
func plain(f func() http.HandlerFunc) func(args) http.HandlerFunc {
	return func(args) http.HandlerFunc { return f() }
}

// counted wraps a constructor that takes a number.
func counted(f func(int) http.HandlerFunc) func(args) http.HandlerFunc {
	return func(a args) http.HandlerFunc { return f(a.number(0)) }
}

// timed wraps a constructor that takes a duration.
func timed(f func(time.Duration) http.HandlerFunc) func(args) http.HandlerFunc {
	return func(a args) http.HandlerFunc { return f(a.duration(0)) }
}

// worded wraps a constructor that takes a text.
func worded(f func(string) http.HandlerFunc) func(args) http.HandlerFunc {
	return func(a args) http.HandlerFunc { return f(a[0]) }
}

func down(d apitest.Door) func(args) http.HandlerFunc {
	return timed(func(t time.Duration) http.HandlerFunc { return Down(d, t) })
}

// What many actions take.
var (
	span   = []param{{"DURATION", duration, false}}
	status = []param{{"CODE", code, false}, {"REASON", text, true}, {"MESSAGE", text, true}}
)

func n(name string) []param { return []param{{name, number, false}} }

// actions is the table, in the order of the help.
func actions() []action {
	return slices.Concat(ofConnections(), ofResponses(), ofLists(), ofEvents())
}

func ofConnections() []action {
	return []action{
		{"reset", nil, anywhere, "resets the connection (TCP RST)", plain(Reset)},
		{"close", nil, anywhere, "closes the connection where more is due; on HTTP/2 RST_STREAM", plain(Hangup)},
		{"hang", nil, anywhere, "never answers, or stops answering", plain(Hang)},
		{"half-open", nil, anywhere, "what is sent from now on over the connection, either way, vanishes", plain(HalfOpen)},
		{"trickle", []param{{"BYTES", number, false}, {"PAUSE", duration, true}}, anywhere, "sends so many bytes at a time, with a pause after each piece",
			func(a args) http.HandlerFunc { return Trickle(a.number(0), a.duration(1)) }},
		{"delay", span, anywhere, "waits before it goes on", timed(Delay)},
		{"refuse", span, anywhere, "resets every connection, and refuses new ones for so long", down(apitest.Refusing)},
		{"stall", span, anywhere, "resets every connection, and does not answer new ones, TLS handshakes included", down(apitest.Hanging)},
		{"reset-all", span, anywhere, "resets every connection, and new ones too for so long", down(apitest.Resetting)},
		{"untrusted", span, anywhere, "resets every connection, and shows new ones a certificate of an unknown CA for so long", down(apitest.Untrusted)},
		{"outdated", span, anywhere, "resets every connection, and shows new ones a certificate that has expired for so long", down(apitest.Outdated)},
		{"http1", span, anywhere, "resets every connection, and does not offer HTTP/2 to new ones for so long", down(apitest.HTTP1)},
		{"rotate", nil, anywhere, "shows new connections another certificate of the same CA from now on", plain(Rotated)},
		{"go-away", nil, whole, "HTTP/2 GOAWAY; on HTTP/1.1 closes the connection after the answer", plain(GoAway)},
		{"crash", nil, anywhere, "restarts the server, which forgets the history for watches", plain(Crash)},
		{"restore", n("REVISIONS"), anywhere, "restores the state of so many revisions ago, as from a backup of etcd", counted(Restore)},
		{"forget", nil, anywhere, "forgets the history up to now, and goes on", plain(Forget)},
		{"recreate", nil, anywhere, "deletes the first object and creates it again, and continues", plain(Recreate)},
	}
}

func ofResponses() []action {
	return []action{
		{"status", status, whole, "answers with this Status", func(a args) http.HandlerFunc { return Answer(statusOf(a)) }},
		{"throttle", []param{{"RETRY-AFTER", text, true}}, whole, "answers 429, with this Retry-After as it stands", worded(Throttle)},
		{"throttle-until", span, whole, "answers 429, with a Retry-After that is a date", timed(ThrottleUntil)},
		{"html", []param{{"CODE", code, false}}, whole, "answers with this code and a page for people", counted(HTML)},
		{"empty-body", nil, notWatches, "answers 200 without a body", plain(EmptyBody)},
		{"redirect", []param{{"CODE", code, false}, {"LOCATION", text, false}}, whole, "redirects",
			func(a args) http.HandlerFunc { return Redirect(a.number(0), a[1]) }},
		{"content-type", []param{{"TYPE", text, false}}, whole, "says that the answer is of this type", worded(ContentType)},
		{"skew", span, whole, "puts the Date so far ahead of the clock, or behind it", timed(Skew)},
		{"early-hints", nil, whole, "sends a 103 before the answer", plain(EarlyHints)},
		{"no-last-chunk", nil, whole, "closes the connection where the last chunk is due", plain(NoLastChunk)},
		{"extra-last-chunk", nil, whole, "sends the last chunk twice", plain(ExtraLastChunk)},
		{"truncate", n("BYTES"), notWatches, "sends so many bytes under the Content-Length of all", counted(Truncate)},
		{"truncated-gzip", nil, notWatches, "sends half of the compressed answer", plain(TruncatedGzip)},
	}
}

func ofLists() []action {
	return []action{
		{"metadata-last", nil, notWatches, "puts the metadata of a list after its items", plain(MetadataLast)},
		{"empty-page", nil, notWatches, "sends a page without items but with a token", plain(EmptyPage)},
		{"stale", []param{{"REVISION", decimal, false}}, notWatches, "lists as of this revision",
			func(a args) http.HandlerFunc { return Stale(kube.Revision(a[0])) }},
		{"behind", n("REVISIONS"), notWatches, "lists as of so many revisions ago, as a replica that lags", counted(Behind)},
		{"shift-revision", n("REVISIONS"), notWatches, "adds so many to the revision of a list", counted(ShiftRevision)},
		{"expire-page", nil, notWatches, "answers 410, a further page with a token to go on inconsistently", plain(ExpireContinue)},
		{"expire-page-for-good", nil, notWatches, "answers 410, without a token", plain(ExpireContinueForGood)},
		{"too-large", nil, whole, "answers 504: the revision is yet to come", plain(TooLarge)},
		{"reject-initial", nil, whole, "answers 422, as a server without streaming lists", plain(RejectInitialEvents)},
		{"ignore-initial", nil, whole, "ignores sendInitialEvents, as an old server", plain(IgnoreInitialEvents)},
		{"ignore-shard", nil, anywhere, "ignores shardSelector from now on, as with its feature gate off", plain(IgnoreShard)},
		{"reject-shard", nil, whole, "answers 500, as to a shardSelector that cannot be parsed", plain(RejectShard)},
		{"no-mark", nil, whole, "leaves out the bookmark that ends the initial events", plain(NoInitialEventsEnd)},
	}
}

func ofEvents() []action {
	return []action{
		{"end", nil, streams, "ends the watch in good order", plain(EndStream)},
		{"error", status, streams, "sends an ERROR event and ends the watch", func(a args) http.HandlerFunc { return ErrorEvent(statusOf(a)) }},
		{"cut", n("BYTES"), streams, "sends so many bytes of the next event and closes the connection", counted(CutEvent)},
		{"chop", n("BYTES"), streams, "sends each event in chunks of so many bytes", func(a args) http.HandlerFunc { return Chop(max(1, a.number(0))) }},
		{"split-runes", nil, streams, "sends each event in two chunks, parted within a character or an escape", plain(SplitRunes)},
		{"coalesce", n("EVENTS"), streams, "sends so many events in one chunk", counted(Coalesce)},
		{"crlf", nil, streams, "ends events by CRLF, and adds blank lines", plain(CRLF)},
		{"no-newline", nil, streams, "leaves out the newlines between events", plain(NoNewline)},
		{"pretty", nil, streams, "indents events over many lines", plain(Pretty)},
		{"drop", nil, streams, "leaves out the next event", plain(Drop)},
		{"duplicate", nil, streams, "sends the next event twice", plain(Duplicate)},
		{"swap", nil, streams, "sends the next two events in the wrong order", plain(Swap)},
		{"other-uid", nil, streams, "sends the next DELETED with another UID", plain(OtherUID)},
		{"replace", []param{{"JSON", text, false}}, streams, "sends the next event with this object", worded(ReplaceObject)},
		{"inject", []param{{"TEXT", text, false}}, streams, "writes this into the stream", worded(Inject)},
		{"invalid-json", nil, streams, "injects a line that is no JSON", plain(InvalidJSON)},
		{"unknown-type", nil, streams, "injects an event of an unknown type", plain(UnknownType)},
		{"null-object", nil, streams, "injects an event without an object", plain(NullObject)},
		{"duplicate-keys", nil, streams, "injects an event that says everything twice", plain(DuplicateKeys)},
		{"huge", n("BYTES"), streams, "injects an event of this size", counted(Huge)},
		{"deep", n("LEVELS"), streams, "injects an event nested so deep", counted(Deep)},
		{"bookmark-behind", n("REVISIONS"), streams, "injects a bookmark of so many revisions ago", counted(BookmarkBehind)},
		{"bookmark-of", []param{{"KIND", text, false}}, streams, "injects a bookmark for another kind, far ahead", worded(BookmarkOf)},
	}
}

// statusOf returns the Status for the arguments of status and error.
func statusOf(a args) *kube.Status {
	st := &kube.Status{Code: a.number(0), Reason: a[1], Message: a[2]}
	if st.Reason == "" {
		st.Reason = map[int]string{400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 406: "NotAcceptable",
			409: "Conflict", 410: "Expired", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}[st.Code]
	}
	if st.Message == "" {
		st.Message = "apitest: " + http.StatusText(st.Code)
	}
	return st
}

func actionNames() string {
	var names []string
	for _, a := range actions() {
		names = append(names, a.name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (a *action) usage() string {
	s := a.name
	for _, p := range a.params {
		if p.optional {
			s += " [" + p.name + "]"
		} else {
			s += " " + p.name
		}
	}
	return s
}

// parseAction checks an action for its place, and returns it in its canonical form.
func parseAction(words []token, m apitest.Match) (string, *Error) {
	first := words[0]
	all := actions()
	i := slices.IndexFunc(all, func(a action) bool { return a.name == first.text })
	if i < 0 {
		return "", first.problem("there is no action %q; there are: %s", first.text, actionNames())
	}
	a := &all[i]
	switch {
	case m.AfterEvent > 0 && (a.where == whole || a.where == notWatches):
		return "", first.problem("%s is about an answer as a whole: it cannot strike after=%d", a.name, m.AfterEvent)
	case m.AfterEvent > 0 && m.Verb != "" && m.Verb != "watch":
		return "", first.problem("after=%d is for watches, not for %s", m.AfterEvent, m.Verb)
	case a.where == streams && m.Verb != "" && m.Verb != "watch":
		return "", first.problem("%s strikes watches only", a.name)
	case a.where == notWatches && m.Verb == "watch":
		return "", first.problem("%s does not strike watches", a.name)
	case len(words)-1 > len(a.params):
		return "", words[len(a.params)+1].problem("want %q and no more", a.usage())
	}
	parts := []string{a.name}
	for i, p := range a.params {
		if i+1 >= len(words) {
			if !p.optional {
				last := words[len(words)-1]
				return "", last.problem("want %q", a.usage())
			}
			break
		}
		v, err := p.check(words[i+1].text)
		if err != nil {
			return "", words[i+1].problem("%s of %s: %v", p.name, a.name, err)
		}
		parts = append(parts, quoted(v, false))
	}
	return strings.Join(parts, " "), nil
}

// handlerOf returns the handler of a checked action.
func handlerOf(line string) http.HandlerFunc {
	words, _ := words("*: " + line) // checked
	all := actions()
	a := all[slices.IndexFunc(all, func(a action) bool { return a.name == words[1].text })]
	args := make(args, len(a.params))
	for i, w := range words[2:] {
		args[i] = w.text
	}
	h := a.make(args)
	if a.where != notWatches && a.where != streams {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if watch := apitest.ExchangeOf(r).Verb() == "watch"; watch != (a.where == streams) {
			apitest.Continue(w, r)
			return
		}
		h(w, r)
	}
}

// Help describes the language of [Parse], with every action.
func Help() string {
	var b strings.Builder
	b.WriteString("A fault a line, as MATCH: ACTION. What follows # is a comment.\n\n" +
		"  watch pods ns=shop nth=2 after=5 times=1: cut 60\n  list configmaps query=continue=: status 410\n\n" +
		"MATCH is a verb (" + strings.Join(verbs(), ", ") + ")\n" +
		"or * for all, then perhaps a resource (pods, deployments.apps), then perhaps:\n\n")
	row := func(left, right string) { fmt.Fprintf(&b, "  %-32s%s\n", left, right) }
	for _, k := range keys() {
		row(k.name+"=", k.doc)
	}
	b.WriteString("\nACTION in place of an answer, or, with after=, within a watch:\n\n")
	for _, part := range []struct {
		where where
		title string
	}{{anywhere, ""}, {whole, "In place of an answer, or about all of it:"}, {notWatches, "The same, where watches are left alone:"}, {streams, "In watches, where all else is left alone:"}} {
		if part.title != "" {
			b.WriteString("\n" + part.title + "\n\n")
		}
		for _, a := range actions() {
			if a.where == part.where {
				row(a.usage(), a.doc)
			}
		}
	}
	b.WriteString("\nA word with blanks stands in double quotes. Of several faults for one request the first line comes first.\n")
	return b.String()
}
