/**
 * Published signature vectors, copied as data. Sources: standard-webhooks/standard-webhooks @ b2fa7b8 (hmac-1, hmac-2),
 * svix/svix-webhooks @ 4fc0cfb (ed25519-1), RFC 9421 appendix B and RFC 8037 appendix A (Ed25519 keys).
 */
export const standardWebhooksVectors = [
  {
    name: "hmac-1",
    prefix: "whsec_",
    keyHex: "31f290f6bf06298aab4f08d43c3f082cf648a362da2da4b0",
    messageId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestampSeconds: 1614265330,
    body: '{"test": 2432232314}',
    signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
  {
    name: "hmac-2",
    prefix: "whsec_",
    keyHex: "0b6155b0140886bb1c0a195020c57e6f9b1262ca686fba03",
    messageId: "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
    timestampSeconds: 1649367553,
    body: '{"email":"test@example.com","username":"test_user"}',
    signature: "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
  },
  {
    name: "ed25519-1",
    prefix: "whsk_",
    keyHex:
      "e976ff742707a4f79adb53d2d4df5563f3595bbdb708473becde2b242b9b31b7d52880e28f61caa4c2a48a82e55f4751a92289a78009ea9f6532270c16ce8abe",
    messageId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestampSeconds: 1614265330,
    body: '{"test": 2432232314}',
    signature: "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
  },
] as const;

/** The second half of the key of `ed25519-1`. */
export const ed25519PublicKeyHex = "d52880e28f61caa4c2a48a82e55f4751a92289a78009ea9f6532270c16ce8abe";

/**
 * RFC 9421 B.1.4 (key) and B.2.6 (signature): an Ed25519 pair and a signature that do not come from a webhook library.
 */
export const ed25519PrimitiveVector = {
  seedHex: "9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5",
  publicKeyBase64Url: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
  message: [
    '"date": Tue, 20 Apr 2021 02:07:55 GMT',
    '"@method": POST',
    '"@path": /foo',
    '"@authority": example.com',
    '"content-type": application/json',
    '"content-length": 18',
    '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
  ].join("\n"),
  signatureBase64: "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
} as const;

/** RFC 8037 A.2 and A.3: a public key and its RFC 7638 thumbprint. */
export const ed25519ThumbprintVector = {
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
} as const;
