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
// Functions get objects as T. [Mutate] keeps members that T does not have, [Convert] has
// functions for one pair of versions and the server answers whole lists. The server does
// not wait for caches, refuses what is no review, limits bodies to 8 MiB (64 MiB for
// conversions, 256 MiB together), and serves for 15 s after it was stopped.
//
// The replicas share a Secret with a CA and a certificate, by conditional writes and
// without a leader, and write the CA into the webhook configurations and definitions. The
// CA signs one certificate; its key is not kept. A new pair is made when two thirds of 90
// days have passed. Each replica serves by it once every configuration has held both CAs
// for 5 minutes. Expired CAs are removed, and of CAs that others have added those above 16
// in all, so that API servers trust what is served at each moment. To revoke a CA, delete
// it from the Secret and the configurations.
//
// [Server.Manifests] has the configurations and the permissions that are needed. Package
// webhooktest calls webhooks without TLS, and looks for what conversions lose.
package webhook
