package hide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/listwatch/listwatch/kube"
)

const planted = `planted"token+of a test`

// TestBytesKeepTheirNumber: a credential is overwritten in each of its forms, a number by a number,
// and what is too short not at all.
func TestBytesKeepTheirNumber(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		open       int
	}{
		{"a " + planted + " b " + planted, "a REDACTEDREDACTEDREDACTE b REDACTEDREDACTEDREDACTE", 0},
		{`planted\"token+of a test.`, "REDACTEDREDACTEDREDACTED.", 0},
		{"planted%22token%2Bof+a+test.", "REDACTEDREDACTEDREDACTEDRED.", 0},
		{"123456789012 12345678901", "111111111111 12345678901", 11},
		{`planted"token+of, planted"token`, `planted"token+of, planted"token`, 13},
		{strings.Repeat(`\`, 101) + planted, strings.Repeat(`\`, 64) + strings.Repeat("REDACTED", 11)[:60], 0},
		{"short", "short", 0}, {"x planted", "x planted", 7}, {`x\`, `x\`, 1}, {"", "", 0},
	} {
		b := []byte(tt.text)
		if open := Bytes(b, []string{planted, "123456789012", "short", ""}, false); string(b) != tt.want || open != tt.open {
			t.Errorf("%q: %q, open %d, want %q, open %d", tt.text, b, open, tt.want, tt.open)
		}
	}
}

// TestCutCredentials are hidden, and what is too short is not.
func TestCutCredentials(t *testing.T) {
	const planted = "planted<token+of a test"
	for n := range len(planted) {
		text := "'" + planted[:n] + "…>"
		want := text
		if n >= inText.part {
			want = "'(hidden)…>"
		}
		if got := Text(text, []string{planted}); got != want {
			t.Errorf("%q: %q", text, got)
		}
		b := []byte(text)
		Bytes(b, []string{planted}, true)
		if hidden := string(b) != text; hidden != (n >= inData.part) {
			t.Errorf("%q: %q", text, b)
		}
	}
}

// encodings are how programs quote a text.
var encodings = []func(string) string{
	func(s string) string { b, _ := json.Marshal(s); return string(b) },
	func(s string) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s) // into memory
		return strings.TrimSuffix(b.String(), "\n")
	},
	func(s string) string { return ascii(s, `\u%04x`) },
	func(s string) string { return ascii(s, `\u%04X`) },
	func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
	func(s string) string {
		var b strings.Builder
		for _, half := range utf16.Encode([]rune(s)) {
			fmt.Fprintf(&b, `\u%04x`, half)
		}
		return b.String()
	},
	strconv.Quote,
	url.QueryEscape, url.PathEscape, html.EscapeString,
	func(s string) string { return (&url.URL{Path: "/" + s}).String()[1:] },
	func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "&", "&#x26;"), "+", "&#43;") },
}

// ascii is JSON in ASCII, with escapes of what is not plain.
func ascii(s, escape string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r < 128 && !strings.ContainsRune("<>&+=/'", r):
			b.WriteRune(r)
		default:
			for _, half := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, escape, half)
			}
		}
	}
	return b.String()
}

// TestCredentialsAreFoundInEachForm: random ones, in random quotes of up to three levels, as a name
// that was cleaned, in pieces; and JSON remains JSON.
func TestCredentialsAreFoundInEachForm(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 2))
	const letters = `abcXYZ059-._~+/=&<>"'%\ äß€😀:@!$(){}[],;|` + "`^"
	runes := []rune(letters)
	for range 2_000 {
		var s strings.Builder
		for range 12 + rnd.IntN(20) {
			s.WriteRune(runes[rnd.IntN(len(runes))])
		}
		credential := "q" + s.String() + "q" // ends where it can be seen
		text, how := credential, []int{}
		for range rnd.IntN(4) {
			how = append(how, rnd.IntN(len(encodings)))
		}
		for _, i := range how {
			text = encodings[i](text)
		}
		text = "before " + text + " after"
		secrets := []string{credential}
		b := []byte(text)
		Bytes(b, secrets, true)
		if !only(string(b)) {
			t.Fatalf("%q by %v: %q: %q", credential, how, text, b)
		}
		if shown := Text(text, secrets); !only(shown) {
			t.Fatalf("%q by %v: %q: %q", credential, how, text, shown)
		}
		if shown := Text(kube.CleanName(credential), secrets); !only("before " + shown + " after") {
			t.Fatalf("%q: %q", credential, shown)
		}
		got, err := io.ReadAll(bodyOf(iotest.OneByteReader(strings.NewReader(text)), secrets...))
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%q by %v: %q, at once %q, %v", credential, how, got, b, err)
		}
	}
}

// only reports whether nothing but quotes is left beside what was hidden.
func only(text string) bool {
	text = strings.NewReplacer("before ", "", " after", "", "(hidden)", "", "REDACTED", "", "amp;", "").Replace(text)
	return strings.Trim(text, "REDACT\"\\/%&quot;#0123456789BFabcdefx�") == ""
}

// TestQuotesBehindPercent end a string of JSON, too.
func TestQuotesBehindPercent(t *testing.T) {
	b := []byte(`{"m":"abcdefghijklmnopq%5c","b":1}`)
	if Bytes(b, []string{`abcdefghijklmnopq"rest-of-it`}, true); !json.Valid(b) || bytes.Contains(b, []byte("abc")) {
		t.Errorf("%s", b)
	}
}

// TestJSONRemainsJSON where a credential, or its beginning, is overwritten in it.
func TestJSONRemainsJSON(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 4))
	alphabets := [][]rune{[]rune(`nu"\/ä<&😀` + "\n0"), []rune("nu04ä"), []rune(`n0abcd\`), []rune(`u00a"`), []rune(`u0041deb`), []rune(`abcdefg\`)}
	text := func(letters []rune, n int) string {
		var s strings.Builder
		for range n {
			s.WriteRune(letters[rnd.IntN(len(letters))])
		}
		return s.String()
	}
	for i := range 8_000 {
		letters := alphabets[i%len(alphabets)]
		credential := text(letters, 12+rnd.IntN(20))
		value := text(letters, rnd.IntN(5)) + credential[:rnd.IntN(len(credential)+1)] + text(letters, rnd.IntN(90))
		b, err := json.Marshal(map[string]string{"a": value + credential, "b": value})
		if err != nil {
			t.Fatal(err)
		}
		was := bytes.Clone(b)
		Bytes(b, []string{credential}, true)
		pieces, stream := []byte(nil), Stream{Hide: func(b []byte, last bool) int { return Bytes(b, []string{credential}, last) }}
		for rest := was; ; {
			n := min(len(rest), rnd.IntN(40))
			pieces = append(pieces, stream.Feed(bytes.Clone(rest[:n]), n == len(rest))...)
			if rest = rest[n:]; len(rest) == 0 {
				break
			}
		}
		few := 2*strings.Count(credential, `\`) < len(credential) // else its view is too short
		if !json.Valid(b) || !json.Valid(pieces) || few && bytes.Equal(b, was) {
			t.Fatalf("%q in %s: %s, in pieces %s", credential, was, b, pieces)
		}
	}
}

// TestBothTokensAreFound where they begin alike, as before and after a rotation.
func TestBothTokensAreFound(t *testing.T) {
	const header = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOlsi"
	secrets := []string{header + "new-and-its-signature", header + "old-and-its-signature"}
	for _, s := range secrets {
		b := []byte("<" + s + ">")
		Bytes(b, secrets, true)
		if shown := Text("<"+s+">", secrets); shown != "<(hidden)>" || strings.Contains(string(b), "signature") {
			t.Errorf("%s: %s, %s", s, shown, b)
		}
	}
}

// TestWhatLooksLikeAQuote before a credential that is written as it is does not hide it.
func TestWhatLooksLikeAQuote(t *testing.T) {
	for secret, before := range map[string][]string{
		"deadbeef0123456789abcdef01234567": {"100%", "a%25", "x%2525", `\\`, "&"},
		"07401b.f395accd246ae52d":          {"%"}, "uface0123456789abcdef": {`\\`}, "lt;0123456789abcdef": {"&"}, "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\": {"a "},
	} {
		for _, b := range before {
			data := []byte(b + secret + " z")
			if Bytes(data, []string{secret}, true); strings.Contains(string(data), secret[2:]) || !strings.HasSuffix(string(data), " z") {
				t.Errorf("%s: %s", secret, data)
			}
			if text := Text(b+secret, []string{secret}); strings.Contains(text, secret[2:]) {
				t.Errorf("%s: %s", secret, text)
			}
		}
	}
}

// TestQuotesBehindHalfOfOne: what looks like the beginning of another quote does not hide that of
// JSON.
func TestQuotesBehindHalfOfOne(t *testing.T) {
	for _, before := range []string{"%", "%0", "%25", "&#", "&am", "&amp;#", "+"} {
		b := []byte(`{"a":"` + before + `eyJ\u0068bGciOiJIUzI1NiJ9"}`)
		text := Text(string(b), []string{"eyJhbGciOiJIUzI1NiJ9"})
		if Bytes(b, []string{"eyJhbGciOiJIUzI1NiJ9"}, true); bytes.Contains(b, []byte("OiJIUzI")) || strings.Contains(text, "OiJIUzI") {
			t.Errorf("%s: %s, %s", before, b, text)
		}
	}
}

// TestPeriodicCredentials take linear time, and are found where they overlap themselves.
func TestPeriodicCredentials(t *testing.T) {
	secret := strings.Repeat("ab", 1<<15) + "c"
	b := []byte(strings.Repeat("ab", 1<<20) + "c.")
	if Bytes(b, []string{secret}, true); bytes.ContainsAny(b, "abc") || b[len(b)-1] != '.' {
		t.Error("a part is left")
	}
}

// TestNumbersRemainNumbers where a credential may be read as one, or as several.
func TestNumbersRemainNumbers(t *testing.T) {
	for secret, want := range map[string]string{
		"-12345678901234567": "-11111111111111111", "3.14159265358979": "1.11111111111111", "1234567890123e5": "1111111111111e0", "100000,200000": "111111,111111",
	} {
		b := []byte(`{"a":[` + secret + `]}`)
		if Bytes(b, []string{secret}, true); string(b) != `{"a":[`+want+`]}` {
			t.Errorf("%s: %s", secret, b)
		}
	}
}

// TestDataIsNotHeldBack for more than what a unit can have, nor scanned again and again.
func TestDataIsNotHeldBack(t *testing.T) {
	secrets := []string{planted, `\&%"` + planted}
	for _, part := range []string{"x", `\`, "%5c", "%255c", "%25", "%", "&", "&amp;", "amp;", "\\u0026", `\u005c`, "\\ud83d", "%5cu0026", "&#", "1", "\xEF", "planted"} {
		b := bytes.Repeat([]byte(part), 1<<16)
		if open := Bytes(b, secrets, false); open > 400 {
			t.Errorf("%q: %d bytes", part, open)
		}
		Bytes(append([]byte("&"), b...), secrets, true)
	}
	for _, end := range []string{"&y\"}}\n", "\\u0026 y\"}\n", `\n"}` + "\n", "100%\"}\n", "%2\"}\n", "&am\"}\n", "plante\"}\n", "\xEF\"}\n"} {
		if open := Bytes([]byte(`{"a":"`+end), secrets, false); open != 0 {
			t.Errorf("%q: %d bytes", end, open)
		}
	}
}

// TestEndlessQuotes of what begins as a credential are not waited for, however small the pieces
// are, and what was there of it is hidden.
func TestEndlessQuotes(t *testing.T) {
	const size, planted = 1 << 17, "planted-token+of-a-test"
	for _, begin := range []string{"p", `planted\u002dtoken+of-a-t`} {
		for _, part := range []string{`\`, `\u005c`, "%5c", "%5cu005c", "%255c", "&#92;", `\u0026#92;`} {
			for _, piece := range []int{64, 1 << 10, 1 << 20} {
				for _, again := range []int{3 << 10, size} {
					group := begin + strings.Repeat(part, again/len(part))
					text := []byte(strings.Repeat(group, size/again))
					seen, shown, held := 0, []byte(nil), 0
					s := Stream{Hide: func(b []byte, last bool) int {
						seen += len(b)
						return Bytes(b, []string{planted}, last)
					}}
					for at := 0; at < len(text); at += piece {
						shown = append(shown, s.Feed(text[at:min(at+piece, len(text))], false)...)
						held = max(held, min(at+piece, len(text))-len(shown))
					}
					shown = append(shown, s.Feed(nil, true)...)
					if held > 6<<10 || seen > 20*size || len(shown) != len(text) || bytes.Contains(shown, []byte("token")) {
						t.Errorf("%s and %s, again after %d, in pieces of %d: %d bytes held back, %d looked at, %d of %d shown: %.30s",
							begin, part, again, piece, held, seen, len(shown), len(text), shown)
					}
				}
			}
		}
	}
}

func bodyOf(r io.Reader, secrets ...string) *body {
	hide := func(b []byte, last bool) int { return Bytes(b, secrets, last) }
	return &body{ReadCloser: io.NopCloser(r), stream: Stream{Hide: hide}}
}

// TestPiecesWithinAnEscape: where a credential seems to begin in an escape of JSON, both are kept
// together.
func TestPiecesWithinAnEscape(t *testing.T) {
	got, err := io.ReadAll(bodyOf(iotest.OneByteReader(strings.NewReader(`{"a":"\u0041deadbeefcafe0123"}`)), "0041deadbeefcafe0123"))
	if err != nil || !json.Valid(got) || bytes.Contains(got, []byte("dead")) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestBodyHidesWhatIsSplit: a credential may arrive in pieces, and the body ends as it did.
func TestBodyHidesWhatIsSplit(t *testing.T) {
	text := strings.Repeat(planted+" and plan ", 5) + "plant"
	want := []byte(text)
	Bytes(want, []string{planted}, true)
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
		b := bodyOf(r, planted)
		if err := iotest.TestReader(b, want); err != nil {
			t.Error(err)
		}
	}
	broken := bodyOf(io.MultiReader(strings.NewReader("plan"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if b, err := io.ReadAll(broken); err != io.ErrUnexpectedEOF || !bytes.Equal(b, []byte("plan")) {
		t.Errorf("%q %v", b, err)
	}
}
