// Package webhook serves admission webhooks and conversions of custom resources, with
// certificates of its own.
//
//	hooks, err := webhook.New(c, webhook.Options{Secret: kube.Key{Namespace: "shop", Name: "greetings-webhook"}})
//	webhook.Validate(hooks, greetings, webhook.Rule{}, func(ctx context.Context, r *webhook.Request[Greeting]) error {
//		if r.Object.Spec.Text == "" {
//			return &webhook.FieldError{Field: "spec.text", Reason: webhook.Required}
//		}
//		return nil
//	})
//	m.Add(hooks) // a manager.Manager
//
// The functions get objects as T. With [Mutate], members that T does not have are kept.
// With [Convert], a function converts one object, and the server calls it for each object
// of a request. The server does not wait for caches and refuses requests that are not
// reviews. The body of a request may have 8 MiB, that of a conversion 64 MiB, and all
// bodies together 256 MiB, those of one address half; more of them wait. When it is stopped,
// the server continues to serve for 15 s.
//
// The replicas share a Secret with a CA and a certificate, and write the CA into the webhook
// configurations and definitions. They use conditional writes and need no leader. A CA signs one
// certificate; then the key of the CA is discarded. A certificate is valid for 90 days; after two
// thirds of this time, a replica makes a new CA with a new certificate. Each replica serves the new
// certificate once every configuration has held both CAs for 5 minutes, so that API servers trust
// the served certificate at all times. CAs that expired more than 7 days ago are removed. A
// configuration holds at most 16 CAs: if other programs add more, the added CAs that expire first
// are removed. To revoke a CA, delete it from the Secret and the configurations.
//
// [Server.Manifests] returns the configurations and the permissions that the server needs. Package
// webhooktest calls webhooks without TLS, and looks for members that conversions lose.
package webhook
