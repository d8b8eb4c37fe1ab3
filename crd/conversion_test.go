package crd

import (
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// TestValidateOfConversions: a server refuses a webhook without the strategy Webhook, that
// strategy without a webhook, others, and none. Ensure then leaves the stored webhook alone.
func TestValidateOfConversions(t *testing.T) {
	refused := &kube.Status{Code: 422, Reason: "Invalid", Details: &kube.StatusDetails{Causes: []kube.StatusCause{{Field: "spec.conversion.webhookClientConfig"}}}}
	webhook := map[string]any{"clientConfig": map[string]any{"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": []string{"v1"}}
	for _, tt := range []struct {
		conversion *Conversion
		valid      bool
		removes    bool // Ensure may remove the stored webhook if the server refuses the definition
	}{
		{nil, true, true},
		{&Conversion{Strategy: "None"}, true, true},
		{&Conversion{Strategy: "None", Webhook: webhook}, false, false},
		{&Conversion{Strategy: "Webhook", Webhook: webhook}, true, false},
		{&Conversion{Strategy: "Webhook"}, false, false},
		{&Conversion{Strategy: "Webhook", Webhook: map[string]any{}}, false, false},
		{&Conversion{}, false, false},
		{&Conversion{Webhook: webhook}, false, false},
		{&Conversion{Strategy: "webhook", Webhook: webhook}, false, false},
	} {
		d, err := Of[widget[before]](widgets, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.Spec.Conversion = tt.conversion
		if err := d.Validate(); (err == nil) != tt.valid {
			t.Errorf("%+v: %v", tt.conversion, err)
		}
		if got := d.keepsWebhook(refused); got != tt.removes {
			t.Errorf("%+v: Ensure removes the webhook: %v", tt.conversion, got)
		}
	}
}
