import { SecretText } from "../../shared/ui/secret-text.tsx";

/** Shows a secret for 30 seconds, then removes it from the page. */
export function SecretOnce({ secret }: { readonly secret: string }) {
  return (
    <SecretText
      secret={secret}
      hidden="The secret is hidden. The API returns it to keys with the manage role."
      announced="Secret hidden"
      copyLabel="Copy secret"
    >
      <p class="soft">The secret is hidden after 30 seconds.</p>
    </SecretText>
  );
}
