"""Bootstrap: boot every server, publish the catalogue, fetch the policy's base weights."""
