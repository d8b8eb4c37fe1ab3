package apitest_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

const validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

func webhookOf(url string) string {
	return fmt.Sprintf(`{"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"h"},"webhooks":[{"name":"hook.example.com",
		"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"Fail","clientConfig":{"url":%q},"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]}]}`, url)
}

// TestWebhooksNeedHTTPS: as in Kubernetes. A configuration that was there before is
// not called either.
func TestWebhooksNeedHTTPS(t *testing.T) {
	srv := apitest.NewInMemory(t)
	for url, want := range map[string]string{
		"http://127.0.0.1:1/x":  `webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
		"https:///x":            `webhooks[0].clientConfig.url: Invalid value: \"\": host must be specified; desired format: https://host[/path]`,
		"https://me:you@host/x": `user information is not permitted in URLs`,
		"https://host/x#y":      `fragments are not permitted in URLs`,
		"https://host/x?a=b":    `query parameters are not permitted in URLs`,
		"https://host/x y%":     `url must be a valid URL`,
	} {
		if code, body := do(t, srv, http.MethodPost, validating, webhookOf(url)); code != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", url, code, body)
		}
	}
	called := make(chan struct{}, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
			called <- struct{}{}
		}
	}()
	srv.Put(kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"}, webhookOf("http://"+l.Addr().String()))
	code, body := do(t, srv, http.MethodPost, configMaps, `{"metadata":{"name":"x"}}`)
	if code != http.StatusInternalServerError || !strings.Contains(body, "https://host") {
		t.Errorf("%d %s", code, body)
	}
	select {
	case <-called:
		t.Error("it was called")
	default:
	}
}

// TestCloseEndsAWebhookThatHangs: in the TLS handshake, in its answer, and while
// nobody accepts. Nothing of the call outlives Close.
func TestCloseEndsAWebhookThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conns := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c
		}
	}()
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Put(kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"}, webhookOf("https://"+l.Addr().String()))
	answered := make(chan error, 1)
	go func() {
		resp, err := send(t.Context(), srv, http.MethodPost, configMaps, `{"metadata":{"name":"x"}}`)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode >= http.StatusBadRequest { // the call was given up before the connection was
				err = errors.New(resp.Status)
			}
		}
		answered <- err
	}()
	c := <-conns
	defer c.Close()
	srv.Close()
	if err := <-answered; err == nil {
		t.Error("the write was done")
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 512); err == nil; {
		_, err = c.Read(b)
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("the connection outlives Close")
	}
	if stacks := settled(left); stacks != "" {
		t.Errorf("goroutines outlive Close:\n%s", stacks)
	}
}
