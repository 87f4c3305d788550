//! Entries of lists of variables: names, with their values in another member or line.

use super::written::everywhere;
use super::*;

const TYPED: &str = "correcthorse99";
const WORD: &str = "correcthorse";

/// The text before a secret, the secret, and the text after it.
const SECRET_ENTRIES: [(&str, &str, &str); 26] = [
    ("- name: DB_PASSWORD\n  value: ", TYPED, "\n- name: OTHER\n  value: public\n"),
    ("        - name: DB_PASSWORD\n          value: ", WORD, "\n"),
    ("- name: DB_PASSWORD\r\n  value: ", TYPED, "\r\n"),
    ("- name: \"DB_PASSWORD\"\n  value: \"", WORD, "\"\n"),
    ("- name: 'DB_PASSWORD'\n  value: '", TYPED, "'\n"),
    ("- name: DB_PASSWORD   # for the shop\n  value: ", TYPED, " # a comment\n"),
    ("- name: DB_PASSWORD\n  value: ", "p(a)ss;w,or'd1", "\n"),
    ("- name: DB_PASSWORD\n  value: ", "zebra giraffe 41 lamp", "\n"),
    ("- name: DB_PASSWORD\n  value: ", TYPED, ""),
    ("- name: STRIPE_API_KEY\n  value: ", "0a1b2c3d4e5f6a7b8c9d", "\n"),
    ("- name: AZURE_DEVOPS_PAT\n  value: ", "0a1b2c3d4e5f6a7b8c9d", "\n"),
    ("- name: deploy-secret\n  value: ", "a1B2c3D4e5F6a7B8c9D0", "\n"),
    ("- Name: DB_PASSWORD\n  Value: ", TYPED, "\n"),
    ("     5→- name: DB_PASSWORD\n     6→  value: ", TYPED, "\n     7→- name: OTHER\n"),
    ("     5\t- name: DB_PASSWORD\n     6\t  value: ", TYPED, "\n"),
    ("k8s/shop.yaml:5:- name: DB_PASSWORD\nk8s/shop.yaml-6-  value: ", TYPED, "\n"),
    ("+- name: DB_PASSWORD\n+  value: ", TYPED, "\n"),
    ("{name: DB_PASSWORD, value: ", TYPED, "}"),
    ("- {name: DB_PASSWORD, value: \"", WORD, "\"}\n"),
    ("{\"name\":\"DB_PASSWORD\",\"value\":\"", WORD, "\"}"),
    ("{\"name\": \"DB_PASSWORD\", \"value\": \"", TYPED, "\"}"),
    ("{\"Name\":\"AZURE_DEVOPS_PAT\",\"Value\":\"", "0a1b2c3d4e5f6a7b8c9d", "\"}"),
    ("  \"name\": \"DB_PASSWORD\",\n  \"value\": \"", WORD, "\"\n"),
    ("  name  = \"DB_PASSWORD\"\n  value = \"", WORD, "\"\n"),
    ("  name: 'DB_PASSWORD',\n  value: '", TYPED, "',\n"),
    ("- name: DB_PASSWORD\n  value: ", "größe-77-zebra", "\n"),
];

/// Texts whose second line has another meaning, or no secret.
const HARMLESS_ENTRIES: [&str; 22] = [
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: {name: db-secret-v2, key: password}\n",
    "- name: DB_PASSWORD\n  value: $(OTHER_PASSWORD)\n",
    "- name: DB_PASSWORD\n  value: ${DB_PASSWORD_2}\n",
    "- name: DB_PASSWORD\n  value: {{ .Values.db.password1 }}\n",
    "- name: DB_PASSWORD\n  value: \"\"\n",
    "- name: DB_PASSWORD\n  value: changeme\n",
    "- name: DB_PASSWORD\n  value: required\n",
    "- name: DB_PASSWORD_FILE\n  value: /run/secrets/db-1\n",
    "- name: DB_PASSWORD\n  value: /run/secrets/db-1\n",
    "- name: DB_HOST\n  value: db-1.internal7\n",
    "- name: DB_PASSWORD\n- name: DB_HOST\n  value: db-1.internal7\n",
    "- name: DB_PASSWORD\n\n  value: db-1.internal7\n",
    "- name: DB_PASSWORD\n  values: db-1.internal7\n",
    "- name: DB_PASSWORD\n  default_value: db-1.internal7\n",
    "- username: DB_PASSWORD\n  value: db-1.internal7\n",
    "It reads DB_PASSWORD\n  value: db-1.internal7\n",
    "name: DB_PASSWORD, value: cfg.password1()\n",
    "{ name: DB_PASSWORD, value: dbPassword }",
    "  name: 'DB_PASSWORD',\n  value: process.env.DB_PASSWORD1,\n",
    "  name: DB_PASSWORD,\n  value: dbPassword1,\n",
    "Name:  \"DB_PASSWORD\",\nValue: os.Getenv(\"DB_PASSWORD1\"),\n",
    "{\"name\":\"DB_PASSWORD\",\"value\":null,\"other\":\"abc123def\"}",
];

#[test]
fn the_value_of_an_entry_is_masked_in_text_in_json_and_in_chunks() {
    let secrets = Secrets::default();
    for (before, secret, after) in SECRET_ENTRIES {
        let text = format!("{before}{secret}{after}");
        let masked = everywhere(&secrets, &text, secret);
        let stars = "*".repeat(secret.len());
        assert_eq!(masked, format!("{before}{stars}{after}"));
        let red = format!("{before}\u{1b}[31m{secret}\u{1b}[0m{after}");
        assert!(!everywhere(&secrets, &red, secret).contains(secret), "{red}");
    }
}

#[test]
fn an_entry_without_a_secret_stays() {
    let secrets = Secrets::default();
    for text in HARMLESS_ENTRIES {
        let mut text = text.to_owned();
        for _ in 0..3 {
            assert_eq!(secrets.mask(&text), text);
            text = json!({ "text": text }).to_string();
        }
    }
}

#[test]
fn a_name_reaches_only_the_next_line() {
    let secrets = Secrets::default();
    let mut masker = StreamMasker::new(secrets.clone());
    assert!(masker.is_idle());
    let mut out = Vec::new();
    let mut push = |masker: &mut StreamMasker, text: &str| {
        masker.push(text.as_bytes(), |piece| out.extend_from_slice(piece));
    };
    push(&mut masker, "- name: DB_PASSWORD\n");
    assert!(!masker.is_idle(), "the next line is not masked on its own");
    push(&mut masker, "  value: correcthorse99\n");
    assert!(masker.is_idle());
    push(&mut masker, "  value: correcthorse99\n");
    let expected = "- name: DB_PASSWORD\n  value: **************\n  value: correcthorse99\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    // Nor is a line of JSON part of an entry.
    let text = "- name: DB_PASSWORD\n{\"value\": \"correcthorse99\"}\n";
    assert_eq!(secrets.mask(text), text);
}
