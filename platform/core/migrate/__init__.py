"""What a deployment of another tool is, by its Terraform, and how a lake takes its place."""
