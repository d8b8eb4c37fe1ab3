// Package rolling is the command rollout: it follows a rollout until that is complete.
package rolling
