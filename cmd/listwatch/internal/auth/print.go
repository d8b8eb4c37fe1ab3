package auth

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/listwatch/listwatch/internal/printable"
)

// print returns the report as text or JSON.
func (r *report) print(format string) (string, error) {
	if format == "json" {
		var out strings.Builder
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(r)
		return out.String(), err
	}
	pg := &page{}
	r.Configuration.text(pg)
	r.Credentials.text(pg)
	r.Server.text(pg)
	r.Identity.text(pg)
	r.Rights.text(pg)
	return pg.String(), nil
}

// Columns of the text.
const (
	pageWidth = 80
	pageLabel = 2  // where labels begin
	pageValue = 15 // where values begin
)

// page is text in two columns: labels, and values that are broken between words.
type page struct{ strings.Builder }

// step begins a step with what is common to all of them.
func (p *page) step(name string, s step) {
	fmt.Fprintf(p, "%-*s%s\n", pageValue, name, s.Status)
}

// end prints what all steps have at their end.
func (p *page) end(s step) {
	for _, w := range s.Warnings {
		p.line("warning", w)
	}
	p.line("error", s.Error)
	p.line("to do", s.Advice)
}

// line prints a value, if there is one.
func (p *page) line(label, value string) {
	if value == "" {
		return
	}
	fmt.Fprintf(p, "%*s%-*s", pageLabel, "", pageValue-pageLabel, label)
	at := pageValue
	for i, word := range strings.Fields(printable.Line(value)) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > pageWidth:
			fmt.Fprintf(p, "\n%*s", pageValue, "")
			at = pageValue
		default:
			p.WriteByte(' ')
			at++
		}
		p.WriteString(word)
		at += n
	}
	p.WriteByte('\n')
}

func (c *configuration) text(p *page) {
	p.step("configuration", c.step)
	for _, f := range c.Files {
		p.line("file", f)
	}
	if c.InCluster {
		p.line("from", "the service account of this pod")
	}
	p.line("context", c.Context)
	p.line("cluster", c.Cluster)
	p.line("user", c.User)
	p.line("namespace", c.Namespace)
	p.line("flags", strings.Join(c.Flags, " "))
	p.end(c.step)
}

func (c *credentials) text(p *page) {
	p.step("credentials", c.step)
	for _, s := range c.Shown {
		p.line("shown", s.String())
	}
	if c.Shown != nil && len(c.Shown) == 0 {
		p.line("shown", "none")
	}
	if i := c.Impersonate; i != nil {
		p.line("acting as", i.User)
		p.line("  uid", i.UID)
		p.line("  groups", strings.Join(i.Groups, ", "))
		p.extra("  extra", i.Extra)
	}
	p.end(c.step)
}

// extra prints the extra of a user, a key a line.
func (p *page) extra(label string, extra map[string][]string) {
	for _, k := range slices.Sorted(maps.Keys(extra)) {
		p.line(label, k+"="+strings.Join(extra[k], ","))
	}
}

func (s *serverReport) text(p *page) {
	p.step("server", s.step)
	p.line("url", s.URL)
	p.line("proxy", s.Proxy)
	if s.Proxy == "" {
		p.line("address", s.Address)
	}
	p.line("protocol", s.Protocol)
	p.line("version", s.Version)
	if c := s.Certificate; c != nil {
		p.line("certificate", c.Subject)
		p.line("  names", strings.Join(c.Names, ", "))
		p.line("  issuer", c.Issuer)
		p.line("  until", momentOf(c.NotAfter))
		p.line("  verified", c.VerifiedBy)
	}
	p.end(s.step)
}

func (i *identityReport) text(p *page) {
	p.step("identity", i.step)
	p.line("user", i.User)
	p.line("uid", i.UID)
	p.line("groups", strings.Join(i.Groups, ", "))
	p.extra("extra", i.Extra)
	p.end(i.step)
}

// momentOf prints a time of the report for people.
func momentOf(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return moment(t)
}

func (r *rightsReport) text(p *page) {
	p.step("rights", r.step)
	if r.asked {
		r.rows(p)
	} else {
		r.sum(p)
	}
	p.end(r.step)
}

// rows prints a row for each right that was asked for.
func (r *rightsReport) rows(p *page) {
	if len(r.Rows) == 0 {
		return
	}
	cells := [][]string{{"RESOURCE", "NAMESPACE", "LIST", "WATCH"}}
	for _, row := range r.Rows {
		what, where := row.Resource, row.Namespace
		if row.Name != "" {
			what += "/" + row.Name
		}
		switch {
		case !row.Namespaced:
			where = "-"
		case where == "":
			where = "(all)"
		}
		cells = append(cells, []string{printable.Cell(what), printable.Cell(where), yes(row.List), yes(row.Watch)})
	}
	var widths [4]int
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range cells {
		line := strings.Repeat(" ", pageLabel)
		for j, cell := range row {
			line += fmt.Sprintf("%-*s   ", widths[j], cell)
		}
		fmt.Fprintln(p, strings.TrimRight(line, " "))
		if i > 0 {
			p.line("  list", r.Rows[i-1].List.why())
			p.line("  watch", r.Rows[i-1].Watch.why())
		}
	}
}

func yes(a answer) string {
	if a.Allowed {
		return "yes"
	}
	return "no"
}

// why returns why not. Only JSON has the reason why an action is allowed: it is long.
func (a answer) why() string {
	if a.Allowed {
		return ""
	}
	return a.Reason
}

// sum prints the permissions in few lines.
func (r *rightsReport) sum(p *page) {
	groups := map[[2]bool][]string{}
	for _, row := range r.Rows {
		k := [2]bool{row.List.Allowed, row.Watch.Allowed}
		groups[k] = append(groups[k], row.Resource)
	}
	for _, g := range []struct {
		label string
		key   [2]bool
	}{{"list, watch", [2]bool{true, true}}, {"only list", [2]bool{true, false}}, {"only watch", [2]bool{false, true}}, {"neither", [2]bool{false, false}}} {
		switch all := groups[g.key]; {
		case len(all) == 0:
		case len(all) == len(r.Rows):
			p.line(g.label, fmt.Sprintf("all %d types", len(all)))
		default:
			p.line(g.label, fmt.Sprintf("%d of %d types: %s", len(all), len(r.Rows), strings.Join(few(all), ", ")))
		}
	}
}

// few returns the first of many words.
func few(words []string) []string {
	const most = 20
	if len(words) <= most+1 {
		return words
	}
	return append(slices.Clone(words[:most]), fmt.Sprintf("and %d more (-o json has all)", len(words)-most))
}
