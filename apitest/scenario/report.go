package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// reportPath accepts reports by POST.
const reportPath = "/scenario/report"

const (
	maxReport   = 8 << 20 // bytes of one report
	maxReported = 100_000 // objects
)

// Report reads the objects that the client knows, in lines:
//
//	set NAMESPACE/NAME RESOURCEVERSION
//	del NAMESPACE/NAME
//	clear
//
// A client may also POST such lines to the path /scenario/report of the server, with a
// Content-Type that web forms cannot have, such as application/octet-stream. Over TCP
// the server responds with 415 otherwise. If a client has reported, then at the end of
// the scenario the objects that were set and not deleted must be those of the server. A
// client whose reports were all refused fails too. Names of cluster scoped objects have
// no slash.
func (r *Run) Report(lines io.Reader) error { return r.stage.report(lines) }

func (s *stage) report(lines io.Reader) error {
	in := bufio.NewScanner(io.LimitReader(lines, maxReport))
	for n := 1; in.Scan(); n++ {
		words := strings.Fields(in.Text())
		var err error
		s.update(func() {
			s.reports++
			switch {
			case len(words) == 0:
			case len(words) == 3 && words[0] == "set" && len(s.reported) < maxReported:
				s.reported[words[1]] = words[2]
			case len(words) == 2 && words[0] == "del":
				delete(s.reported, words[1])
			case len(words) == 1 && words[0] == "clear":
				clear(s.reported)
			default:
				err = fmt.Errorf("report, line %d: want set NAME RESOURCEVERSION, del NAME or clear", n)
			}
		})
		if err != nil {
			return err
		}
	}
	return in.Err()
}

func (s *stage) takeReport(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		apitest.Continue(w, r)
		return
	}
	if err := s.report(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// truth is the last step: the reported objects must be those of the server.
func truth(ctx context.Context, s *stage) error {
	const patience = 10 * time.Second
	want := make(map[string]string)
	objects, _ := s.srv.List(s.resource)
	for _, b := range objects {
		var o struct {
			Metadata struct{ Namespace, Name, ResourceVersion string }
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		name := o.Metadata.Name
		if o.Metadata.Namespace != "" {
			name = o.Metadata.Namespace + "/" + name
		}
		want[name] = o.Metadata.ResourceVersion
	}
	refused := s.refusedReports()
	var wrong []string
	return s.await(ctx, patience, func() (bool, error) {
		switch {
		case s.reports == 0 && refused > 0:
			return false, failed("the server refused %d of its reports (415) and accepted none: %s", refused, reportType)
		case s.reports == 0:
			return true, nil
		}
		wrong = wrong[:0]
		for name, rv := range want {
			if got := s.reported[name]; got != rv {
				wrong = append(wrong, fmt.Sprintf("%s is at %s, reported %q", name, rv, got))
			}
		}
		for name := range s.reported {
			if want[name] == "" {
				wrong = append(wrong, name+" does not exist")
			}
		}
		return len(wrong) == 0, nil
	}, func() error {
		slices.Sort(wrong)
		text := strings.Join(wrong[:min(len(wrong), 5)], "; ")
		if refused > 0 {
			text += fmt.Sprintf("; the server refused %d of its reports (415): %s", refused, reportType)
		}
		return failed("its last report is wrong: %s", text)
	})
}

const reportType = "a report needs a Content-Type that no form of a web page has, such as application/octet-stream"

// refusedReports counts the reports that were refused because of their Content-Type.
func (s *stage) refusedReports() (n int) {
	for _, r := range s.srv.Requests() {
		if r.Method == http.MethodPost && r.Path == reportPath && r.Code == http.StatusUnsupportedMediaType {
			n++
		}
	}
	return n
}
