import assert from "node:assert/strict";
import { test } from "node:test";
import { maskedField, maskedParameters } from "./masked-fields.ts";

test("query parameters that may be credentials are masked in every URL", () => {
  for (const [given, shown] of [
    ["https://a.test/h?a=1&access_token=x.y%20z&b=2", "https://a.test/h?a=1&access_token=***&b=2"],
    ["/h?sig=abc", "/h?sig=***"],
    ["/h?X-Amz-Signature=abc#id_token=t", "/h?X-Amz-Signature=***#id_token=***"],
    ['<https://a.test/?api_key=1>; rel="next"', '<https://a.test/?api_key=***>; rel="next"'],
    ["/h?acces%73_token=1", "/h?acces%73_token=***"],
    ["/h?code=1&key=2&barcode=3&keyboard=4", "/h?code=***&key=***&barcode=3&keyboard=4"],
    ["/h?%zz=1&token=", "/h?%zz=1&token=***"],
  ] as const)
    assert.equal(maskedParameters(given), shown);
});

test("fields that may be credentials are masked, others only lose such parameters", () => {
  for (const name of [
    "set-cookie",
    "authorization",
    "x-auth-token",
    "proxy-authenticate",
    "x-api-key",
    "signature",
  ])
    assert.equal(maskedField(name, "s3cret"), "***");
  assert.equal(maskedField("location", "/in?token=1"), "/in?token=***");
  assert.equal(maskedField("retry-after", "30"), "30");
});
