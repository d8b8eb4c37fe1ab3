package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/metrics"
	"github.com/listwatch/listwatch/webhook"
)

func TestWebhooks(t *testing.T) {
	r := metrics.New()
	s, err := webhook.New(nil, webhook.Options{Name: "hooks", Service: kube.Key{Namespace: "a", Name: "b"}, CertFile: "x", KeyFile: "y"})
	if err != nil {
		t.Fatal(err)
	}
	webhook.Validate(s, kube.Pods, webhook.Rule{}, func(context.Context, *webhook.Request[kube.Partial]) error { return errors.New("no") })
	metrics.Webhooks(r, s)
	for _, body := range []string{"{", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":{"metadata":{}}}}`} {
		q := httptest.NewRequest(http.MethodPost, "/validate/validate.pods.core", strings.NewReader(body))
		q.Header.Set("Content-Type", "application/json")
		s.Handler().ServeHTTP(httptest.NewRecorder(), q)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "webhook") && !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket") && !strings.Contains(line, "_sum") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`controller_runtime_webhook_latency_seconds_count{webhook="validate.pods.core"} 2`,
		`controller_runtime_webhook_panics_total{server="hooks"} 0`,
		`controller_runtime_webhook_requests_in_flight{server="hooks"} 0`,
		`controller_runtime_webhook_requests_total{allowed="false",code="200",webhook="validate.pods.core"} 1`,
		`controller_runtime_webhook_requests_total{allowed="false",code="400",webhook="validate.pods.core"} 1`,
		`listwatch_webhook_certificate_pending{server="hooks"} 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
