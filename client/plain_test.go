package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
)

// always is a Source of one credential.
type always struct{ token string }

func (a always) Credential(context.Context, *client.Credential) (*client.Credential, error) {
	return &client.Credential{Token: a.token}, nil
}

func TestNewRefusesCredentialsOverPlainHTTP(t *testing.T) {
	for name, cfg := range map[string]client.Config{
		"token":       {Token: "s3cret"},
		"token file":  {TokenFile: "s3cret"},
		"basic":       {Username: "s3cret", Password: "s3cret"},
		"password":    {Password: "s3cret"},
		"credentials": {Credentials: always{"s3cret"}},
	} {
		for _, server := range []string{"http://server.example", "http://127.0.0.1:8001", "HTTP://[::1]"} {
			cfg.Server = server
			_, err := client.New(cfg)
			if err == nil || !strings.Contains(err.Error(), "uses plain http") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s to %s: %v", name, server, err)
			}
		}
	}
	for name, cfg := range map[string]client.Config{
		"https":              {Server: "https://server.example", Token: "s3cret"},
		"permitted":          {Server: "http://server.example", Token: "s3cret", PlainHTTP: true},
		"without credential": {Server: "http://server.example"},
	} {
		if _, err := client.New(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
