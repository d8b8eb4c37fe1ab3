package ui

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/ui/internal/rates"
	"github.com/listwatch/listwatch/ui/internal/refusal"
)

// The plain pages are for browsers without JavaScript. They have the key in their path,
// as no script can send it: the cookie alone goes to each port of the host.

// postPlain lets a browser in by the form of the page.
func (u *UI) postPlain(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if r.Header.Get("Sec-Fetch-Site") != "same-origin" || u.o.TokenReview {
		plainError(w, errSite)
		return
	}
	if !u.doors.use(r.PostFormValue("token")) {
		plainError(w, errToken)
		return
	}
	s := u.doors.admit(nil)
	s.set(w, r, u.o.BasePath+"/")
	w.Header().Set("Location", "plain/"+s.key+"/") // relative, as a prefix of the path may have been removed
	w.WriteHeader(http.StatusSeeOther)
}

func plainError(w http.ResponseWriter, err error) {
	r := refusal.Of(err)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(r.Code)
	plainPage(w, "Error", "<p>"+html.EscapeString(r.Text)+"</p>")
}

func plainPage(w http.ResponseWriter, title, content string) {
	// An error means that the client has left.
	_, _ = fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>%s</title>\n<h1>%[1]s</h1>\n%s</html>\n", html.EscapeString(title), content)
}

// plain serves the types.
func (u *UI) plain(w http.ResponseWriter, r *http.Request) {
	s, err := u.session(r, r.PathValue("key"))
	var v *sight
	if err == nil {
		v, err = s.sight(r.Context(), u)
	}
	if err != nil {
		plainError(w, err)
		return
	}
	var b strings.Builder
	b.WriteString("<table><tr><th>Type<th>Objects<th>State</tr>\n")
	for _, k := range u.types() {
		k.mu.Lock()
		t := v.mask(k, k.wire(rates.Counts{}))
		k.mu.Unlock()
		count := "?"
		if t.Count >= 0 {
			count = strconv.FormatInt(t.Count, 10)
		}
		fmt.Fprintf(&b, "<tr><td><a href=\"list?type=%s\">%s</a><td>%s<td>%s</tr>\n", url.QueryEscape(t.Type), html.EscapeString(t.Type), count, html.EscapeString(t.State+" "+t.Reason))
	}
	b.WriteString("</table>\n")
	plainPage(w, u.o.Name+" types", b.String())
}

// plainList serves one list, a page at a time.
func (u *UI) plainList(w http.ResponseWriter, r *http.Request) {
	s, err := u.session(r, r.PathValue("key"))
	var v *view
	var q query
	if err == nil {
		q, err = queryOf(r.URL.Query())
	}
	if err == nil {
		v, err = u.view(r.Context(), s, q)
	}
	if err != nil {
		plainError(w, err)
		return
	}
	defer v.close()
	v.kind.mu.Lock()
	got, namespaced := v.full(), v.kind.res.Namespaced
	v.kind.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "<p><a href=\"./\">All types</a></p>\n<p>%d of %d match; %s %s</p>\n", got.Matched, got.Total, html.EscapeString(got.State), html.EscapeString(got.Reason))
	fmt.Fprintf(&b, "<form><input type=\"hidden\" name=\"type\" value=\"%s\"><label>Filter <input name=\"text\" value=\"%s\"></label> <button>Show</button></form>\n<table><tr>", html.EscapeString(q.Type), html.EscapeString(q.Text))
	if namespaced {
		b.WriteString("<th>Namespace")
	}
	for i, c := range got.Columns {
		fmt.Fprintf(&b, "<th><a href=\"list?%s\">%s</a>", url.Values{"type": {q.Type}, "text": {q.Text}, "sort": {strconv.Itoa(i)}}.Encode(), html.EscapeString(c.Name))
	}
	b.WriteString("</tr>\n")
	for _, row := range got.Rows {
		b.WriteString("<tr>")
		if namespaced {
			b.WriteString("<td>" + html.EscapeString(row.NS))
		}
		for _, c := range row.Cells {
			b.WriteString("<td>" + html.EscapeString(c))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
	if end := q.From + len(got.Rows); end < got.Matched {
		fmt.Fprintf(&b, "<p><a href=\"list?%s\">More</a></p>\n", url.Values{"type": {q.Type}, "text": {q.Text}, "sort": {q.Sort}, "from": {strconv.Itoa(end)}}.Encode())
	}
	plainPage(w, q.Type, b.String())
}
